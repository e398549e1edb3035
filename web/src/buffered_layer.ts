// A canvas of many marks, links or brokers, that never makes a frame wait.
//
// A few marks are drawn with every frame. Many are drawn in slices that each fit into a frame, onto a buffer that is
// shown when it is complete; while the view moves, the canvas of the last state is moved and scaled by CSS. Plain
// canvases are used, because WebGL without a graphics card takes seconds for 50,000 lines.

/** From places of brokers to pixels: x * sx + tx, y * sy + ty. The view never rotates. */
export interface Transform {
  sx: number;
  tx: number;
  sy: number;
  ty: number;
  /** Pixels per unit of a broker's size. */
  size: number;
}

export interface Frame {
  at: Transform;
  width: number;
  height: number;
}

/** Draw the marks from `first` to before `last`. */
export type Paint = (on: CanvasRenderingContext2D, frame: Frame, first: number, last: number) => void;

/** Up to this number, all marks are drawn with every frame. */
const FEW = 1500;
/** Marks that are drawn between two looks at the clock. */
const BATCH = 200;
/** Milliseconds per frame for drawing. */
const SLICE = 10;
/** Milliseconds without a movement before marks are drawn again. */
const STILL = 200;

export class BufferedLayer {
  private readonly target: CanvasRenderingContext2D;
  private readonly buffer = context(document.createElement("canvas"));
  private shownAt: Transform | null = null;
  private wanted: Transform | null = null;
  private width = 0;
  private height = 0;
  private timer = 0;
  private run = 0;
  private done: () => void = () => undefined;
  /** Kept when all marks were drawn for the first time. */
  readonly first = new Promise<void>((resolve) => (this.done = resolve));

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly marks: number,
    private readonly paint: Paint,
    /** Whether somebody holds the view: then marks wait, however long a frame takes. */
    private readonly held: () => boolean,
  ) {
    canvas.style.pointerEvents = "none";
    canvas.style.transformOrigin = "0 0";
    // A layer of its own: moving it does not paint the page again.
    if (marks > FEW) canvas.style.willChange = "transform";
    this.target = context(canvas);
  }

  /** Draw for a state of the view: at once if there are few marks, otherwise as soon as it is still. */
  draw(frame: Frame): void {
    if (this.marks <= FEW) {
      fit(this.target, frame);
      this.paint(this.target, frame, 0, this.marks);
      this.done();
      return;
    }
    if (this.shownAt) this.move(frame.at, this.shownAt);
    const known = [this.shownAt, this.wanted].some((at) => at !== null && same(frame.at, at));
    if (known && frame.width === this.width && frame.height === this.height) return;
    [this.width, this.height] = [frame.width, frame.height];
    this.wanted = frame.at;
    clearTimeout(this.timer);
    const started = ++this.run;
    this.timer = window.setTimeout(() => this.whenStill(frame, started), this.shownAt ? STILL : 0);
  }

  private whenStill(frame: Frame, started: number): void {
    if (this.shownAt && this.held()) this.timer = window.setTimeout(() => this.whenStill(frame, started), STILL);
    else this.slices(frame, started);
  }

  /** Forget what was drawn, because its colours are old. */
  invalidate(): void {
    this.shownAt = this.wanted = null;
  }

  private slices(frame: Frame, started: number): void {
    fit(this.buffer, frame);
    let mark = 0;
    const step = (): void => {
      if (started !== this.run) return; // the view moved on
      const end = performance.now() + SLICE;
      while (mark < this.marks && performance.now() < end) {
        const last = Math.min(mark + BATCH, this.marks);
        this.paint(this.buffer, frame, mark, last);
        this.buffer.getImageData(0, 0, 1, 1); // browsers draw later unless asked; then a slice is not a slice
        mark = last;
      }
      if (mark < this.marks) {
        requestAnimationFrame(step);
        return;
      }
      fit(this.target, frame);
      this.target.drawImage(this.buffer.canvas, 0, 0, frame.width, frame.height);
      this.canvas.style.transform = "";
      this.shownAt = frame.at;
      this.wanted = null;
      this.done();
    };
    step();
  }

  /** Move and scale the canvas from the state that it was drawn for. */
  private move(at: Transform, from: Transform): void {
    const [wide, high] = [at.sx / from.sx, at.sy / from.sy];
    const [left, top] = [at.tx - from.tx * wide, at.ty - from.ty * high];
    this.canvas.style.transform = `translate(${left}px, ${top}px) scale(${wide}, ${high})`;
  }
}

function same(a: Transform, b: Transform): boolean {
  return a.sx === b.sx && a.tx === b.tx && a.sy === b.sy && a.ty === b.ty && a.size === b.size;
}

/** Return a context that draws in memory, not on a graphics card that may be emulated. */
export function context(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  return canvas.getContext("2d", { willReadFrequently: true })!;
}

/** Clear a canvas, and give it the size of the view in real pixels. */
export function fit(on: CanvasRenderingContext2D, { width, height }: { width: number; height: number }): void {
  const density = window.devicePixelRatio || 1;
  const { canvas } = on;
  const [wide, high] = [Math.round(width * density), Math.round(height * density)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  on.setTransform(density, 0, 0, density, 0, 0);
  on.clearRect(0, 0, width, height);
}
