// A zoomable graph of brokers: sigma moves the view and writes names, layers of our own draw links and brokers.
//
// Highlighting redraws nothing: the canvas of all links fades by CSS, and the few links that matter are drawn above
// it. So selecting a topic costs the same at 50 links and at 50,000.

import Graph from "graphology";
import Sigma from "sigma";
import type { NodeProgramType } from "sigma/rendering";
import { BufferedLayer, context, fit, type Frame, type Transform } from "./buffered_layer";
import type { Payload } from "./payload";

/** Above this, other links fade more when some are highlighted, and names hide while the view moves. */
const MANY_LINKS = 4000;
/** Above this, highlighted brokers are small dots. */
const MANY_BROKERS = 300;
/** Highlighted brokers get their names drawn up to this number. */
const MOST_NAMES = 40;
const LONGEST_LABEL = 32;
const NAME_SIZE = 12;
const NAME_FONT = "system-ui, sans-serif";
/** Pixels between a broker and its name. */
const NAME_GAP = 3;
/** Pixels around a broker that count as it, for fingers and small brokers. */
const REACH = 3;

export interface Highlight {
  links: number[];
  brokers: number[];
  /** The broker that it starts from: the root of a tree, or the selected broker. */
  centre: number;
  /** Brokers that only pass messages on. */
  relays: ReadonlySet<number>;
}

interface Colours {
  broker: string;
  link: string;
  label: string;
  page: string;
  accent: string;
  relay: string;
}

/** Where a name is written, in pixels. */
interface Box {
  left: number;
  right: number;
  middle: number;
}

/** A program for sigma that leaves brokers to us. */
class NothingProgram {
  kill(): void {}
  reallocate(): void {}
  process(): void {}
  render(): void {}
}
const DrawNothing = NothingProgram as unknown as NodeProgramType;

export class GraphView {
  private readonly graph = new Graph({ type: "undirected", multi: false });
  private readonly sigma: Sigma;
  private readonly links: BufferedLayer;
  private readonly brokers: BufferedLayer;
  /** Framed places of the brokers. */
  private readonly x: Float64Array;
  private readonly y: Float64Array;
  private readonly sizes: Float64Array;
  private readonly layer: CanvasRenderingContext2D;
  /** Kept when everything was drawn for the first time. */
  readonly painted: Promise<unknown>;
  private highlight: Highlight | null = null;
  /** Whether the layer of highlights holds something. */
  private drawn = false;
  private colours: Colours;
  /** The names that this frame has so far. */
  private written: Box[] = [];
  /** Called with a broker that was clicked, or with -1 for empty space. */
  onSelect: (broker: number) => void = () => undefined;

  constructor(
    readonly container: HTMLElement,
    readonly payload: Payload,
  ) {
    this.colours = readColours(container);
    this.fill();
    const many = payload.links.u.length > MANY_LINKS;
    this.sigma = new Sigma(this.graph, container, {
      allowInvalidContainer: true,
      enableCameraRotation: false,
      nodeProgramClasses: { circle: DrawNothing },
      nodeHoverProgramClasses: { circle: DrawNothing },
      hideLabelsOnMove: many,
      labelDensity: 2,
      labelFont: NAME_FONT,
      labelRenderedSizeThreshold: payload.brokers.names.length > 200 ? 5 : 0,
      labelSize: NAME_SIZE,
      maxCameraRatio: 3,
      minCameraRatio: 0.01,
      stagePadding: 24,
      defaultDrawNodeHover: () => undefined,
      defaultDrawNodeLabel: (on, { label, x, y, size }) => this.writeName(on, label ?? "", x, y, size),
    });
    const places = payload.brokers.names.map((_, broker) => this.sigma.getNodeDisplayData(String(broker))!);
    this.x = Float64Array.from(places, (place) => place.x);
    this.y = Float64Array.from(places, (place) => place.y);
    this.sizes = Float64Array.from(places, (place) => place.size);
    this.brokers = this.layerOf("brokers", places.length, (...given) => this.paintBrokers(...given));
    this.links = this.layerOf("links", payload.links.u.length, (...given) => this.paintLinks(...given));
    this.avoidWebGL();
    this.layer = this.highlightLayer();
    this.painted = Promise.all([this.links.first, this.brokers.first]);
    this.sigma.on("clickNode", ({ node }) => this.onSelect(Number(node)));
    this.sigma.on("clickStage", () => this.onSelect(-1));
    this.sigma.on("enterNode", ({ node }) => this.pointAt(Number(node)));
    this.sigma.on("leaveNode", () => this.pointAt(-1));
    this.sigma.on("beforeRender", () => (this.written = []));
    this.sigma.on("afterRender", () => this.drawLayers());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.applyColours());
    container.addEventListener("keydown", (event) => this.key(event));
    this.leavePageScrolling();
    this.applyColours();
  }

  /** Show one part, or everything. */
  show(highlight: Highlight | null): void {
    this.highlight = highlight;
    const few = this.payload.links.u.length <= MANY_LINKS;
    this.links.canvas.style.opacity = highlight ? (few ? "0.25" : "0.08") : "1";
    this.brokers.canvas.style.opacity = highlight ? "0.3" : "1";
    this.sigma.getCanvases()["labels"]!.style.opacity = highlight ? "0" : "1";
    this.drawHighlight();
  }

  /** Move the view to some brokers, so that all of them are visible. */
  async frame(brokers: number[]): Promise<void> {
    const places = brokers.map((broker) => this.sigma.getNodeDisplayData(String(broker))!);
    if (!places.length) return;
    const [left, right] = range(places.map((place) => place.x));
    const [low, high] = range(places.map((place) => place.y));
    const ratio = Math.min(1, Math.max(0.15, 1.4 * Math.max(right - left, high - low)));
    await this.move({ x: (left + right) / 2, y: (low + high) / 2, ratio });
  }

  /** Zoom by a factor; below 1 is closer. */
  async zoom(factor: number): Promise<void> {
    await this.move({ ratio: this.sigma.getCamera().getBoundedRatio(this.ratio * factor) });
  }

  /** Show the whole graph again. */
  async reset(): Promise<void> {
    await this.move({ x: 0.5, y: 0.5, ratio: 1, angle: 0 });
  }

  /** How much of the graph is visible: 1 is all of it. */
  get ratio(): number {
    return this.sigma.getCamera().ratio;
  }

  private fill(): void {
    const { brokers } = this.payload;
    const most = brokers.degrees.reduce((a, b) => Math.max(a, b), 1);
    const screen = Math.min(1, Math.max(0.4, this.container.clientWidth / 800));
    const scale = screen * Math.min(11, Math.max(2.5, 110 / Math.sqrt(brokers.names.length + 1)));
    brokers.names.forEach((name, i) => {
      const size = scale * (0.3 + 0.7 * Math.sqrt(brokers.degrees[i]! / most));
      this.graph.addNode(i, { x: brokers.x[i], y: brokers.y[i], size, label: shorten(name) });
    });
  }

  private applyColours(): void {
    this.colours = readColours(this.container);
    this.sigma.setSettings({
      labelColor: { color: this.colours.label },
    });
    this.links.invalidate();
    this.brokers.invalidate();
    this.sigma.refresh();
  }

  private layerOf(name: string, marks: number, paint: ConstructorParameters<typeof BufferedLayer>[2]): BufferedLayer {
    const beforeLayer = name === "links" ? "brokers" : "edges";
    return new BufferedLayer(this.sigma.createCanvas(name, { beforeLayer }), marks, paint, () => this.held());
  }

  /** Whether a mouse or finger drags the view, or it moves by itself. */
  private held(): boolean {
    const touch = this.sigma.getTouchCaptor();
    return this.sigma.getMouseCaptor().isMouseDown || touch.isMoving || this.sigma.getCamera().isAnimated();
  }

  private paintLinks(on: CanvasRenderingContext2D, { at, width, height }: Frame, first: number, last: number): void {
    const { x, y } = this;
    const { u, v } = this.payload.links;
    on.strokeStyle = this.colours.link;
    on.lineWidth = u.length > 4 * MANY_LINKS ? 0.5 : 1;
    on.beginPath();
    for (let link = first; link < last; link++) {
      const [a, b] = [u[link]!, v[link]!];
      const [ax, ay] = [x[a]! * at.sx + at.tx, y[a]! * at.sy + at.ty];
      const [bx, by] = [x[b]! * at.sx + at.tx, y[b]! * at.sy + at.ty];
      if ((ax < 0 && bx < 0) || (ay < 0 && by < 0) || (ax > width && bx > width) || (ay > height && by > height)) {
        continue;
      }
      on.moveTo(ax, ay);
      on.lineTo(bx, by);
    }
    on.stroke();
  }

  private paintBrokers(on: CanvasRenderingContext2D, { at, width, height }: Frame, first: number, last: number): void {
    on.fillStyle = this.colours.broker;
    on.beginPath();
    for (let broker = first; broker < last; broker++) {
      const radius = Math.max(1, this.sizes[broker]! * at.size);
      const [x, y] = [this.x[broker]! * at.sx + at.tx, this.y[broker]! * at.sy + at.ty];
      if (x < -radius || y < -radius || x > width + radius || y > height + radius) continue;
      on.moveTo(x + radius, y);
      on.arc(x, y, radius, 0, 2 * Math.PI);
    }
    on.fill();
  }

  /** Hide sigma's empty WebGL canvases, and find brokers by their places: sigma reads pixels back instead, which
   *  waits for a whole frame of a graphics card that may be emulated. */
  private avoidWebGL(): void {
    const canvases = this.sigma.getCanvases();
    for (const layer of ["edges", "nodes", "hoverNodes"]) canvases[layer]!.style.display = "none";
    const sigma = this.sigma as unknown as { getNodeAtPosition: (at: { x: number; y: number }) => string | null };
    sigma.getNodeAtPosition = ({ x, y }) => {
      const { sx, tx, sy, ty } = this.transform();
      let [found, nearest] = [-1, Infinity];
      for (let broker = 0; broker < this.x.length; broker++) {
        const away = Math.hypot(this.x[broker]! * sx + tx - x, this.y[broker]! * sy + ty - y);
        if (away < nearest) [found, nearest] = [broker, away];
      }
      return found >= 0 && nearest <= this.radius(found) + REACH ? String(found) : null;
    };
  }

  private drawLayers(): void {
    const { width, height } = this.sigma.getDimensions();
    const frame = { at: this.transform(), width, height };
    this.links.draw(frame);
    this.brokers.draw(frame);
    this.drawHighlight();
  }

  /** From framed places to pixels. */
  private transform(): Transform {
    const [a, b] = [{ x: 0, y: 0 }, { x: 1, y: 1 }].map((place) => this.sigma.framedGraphToViewport(place));
    return { sx: b!.x - a!.x, tx: a!.x, sy: b!.y - a!.y, ty: a!.y, size: this.sigma.scaleSize(1) };
  }

  private highlightLayer(): CanvasRenderingContext2D {
    const canvas = this.sigma.createCanvas("highlight", { afterLayer: "brokers" });
    canvas.style.pointerEvents = "none";
    return context(canvas);
  }

  private drawHighlight(): void {
    const { layer, highlight } = this;
    if (highlight || this.drawn) fit(layer, this.sigma.getDimensions());
    this.drawn = highlight !== null;
    if (!highlight) return;
    const { u, v } = this.payload.links;
    layer.strokeStyle = this.colours.accent;
    layer.lineWidth = highlight.links.length > 500 ? 1.2 : 2;
    layer.beginPath();
    for (const link of highlight.links) {
      const [a, b] = [this.place(u[link]!), this.place(v[link]!)];
      layer.moveTo(a.x, a.y);
      layer.lineTo(b.x, b.y);
    }
    layer.stroke();
    for (const broker of highlight.brokers) this.drawBroker(broker, highlight);
    if (highlight.brokers.length <= MOST_NAMES) {
      for (const broker of highlight.brokers) this.drawName(broker);
    } else if (highlight.centre >= 0) this.drawName(highlight.centre);
  }

  private drawBroker(broker: number, highlight: Highlight): void {
    const { layer, colours } = this;
    const { x, y } = this.place(broker);
    const crowd = highlight.brokers.length > MANY_BROKERS;
    const radius = (crowd ? 2 : this.radius(broker)) + (broker === highlight.centre ? 3 : 0);
    layer.beginPath();
    layer.arc(x, y, radius, 0, 2 * Math.PI);
    layer.fillStyle = highlight.relays.has(broker) ? colours.page : colours.accent;
    layer.fill();
    if (crowd && !highlight.relays.has(broker)) return;
    layer.lineWidth = 1.5;
    layer.strokeStyle = highlight.relays.has(broker) ? colours.relay : colours.page;
    layer.stroke();
  }

  private drawName(broker: number): void {
    const { layer, colours } = this;
    const { x, y } = this.place(broker);
    layer.font = `${NAME_SIZE}px ${NAME_FONT}`;
    layer.textBaseline = "middle";
    layer.lineWidth = 3;
    layer.strokeStyle = colours.page;
    layer.fillStyle = colours.label;
    const name = shorten(this.payload.brokers.names[broker]!);
    // The root of a tree is drawn larger.
    const { left } = this.beside(x, y, this.radius(broker) + 3, layer.measureText(name).width);
    layer.strokeText(name, left, y);
    layer.fillText(name, left, y);
  }

  /** Write the name of a broker for sigma, unless it would cover another one. */
  private writeName(on: CanvasRenderingContext2D, name: string, x: number, y: number, radius: number): void {
    on.font = `${NAME_SIZE}px ${NAME_FONT}`;
    const box = this.beside(x, y, radius, on.measureText(name).width);
    if (this.written.some((other) => meet(box, other))) return;
    this.written.push(box);
    on.fillStyle = this.colours.label;
    on.fillText(name, box.left, y + NAME_SIZE / 3);
  }

  /** The place of a name: to the right of its broker or, if only there it is not cut off, to the left. */
  private beside(x: number, middle: number, radius: number, width: number): Box {
    const right = x + radius + NAME_GAP;
    const left = x - radius - NAME_GAP - width;
    const start = right + width > this.container.clientWidth && left >= 0 ? left : right;
    return { left: start, right: start + width, middle };
  }

  private pointAt(broker: number): void {
    this.container.style.cursor = broker >= 0 ? "pointer" : "";
    if (broker >= 0) this.container.title = this.payload.brokers.names[broker]!;
    else this.container.removeAttribute("title");
  }

  private place(broker: number): { x: number; y: number } {
    return this.sigma.framedGraphToViewport({ x: this.x[broker]!, y: this.y[broker]! });
  }

  private radius(broker: number): number {
    return Math.max(3, this.sigma.scaleSize(this.sizes[broker]!));
  }

  private key(event: KeyboardEvent): void {
    if (event.target !== this.container || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = 0.15 * this.ratio;
    const { x, y } = this.sigma.getCamera();
    const moves: Record<string, () => Promise<void> | void> = {
      ArrowLeft: () => this.move({ x: x - step }),
      ArrowRight: () => this.move({ x: x + step }),
      ArrowUp: () => this.move({ y: y + step }),
      ArrowDown: () => this.move({ y: y - step }),
      "+": () => this.zoom(1 / 1.5),
      "=": () => this.zoom(1 / 1.5),
      "-": () => this.zoom(1.5),
      "0": () => this.reset(),
      Escape: () => this.onSelect(-1),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    void move();
  }

  private async move(state: { x?: number; y?: number; ratio?: number; angle?: number }): Promise<void> {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (still) this.sigma.getCamera().setState(state);
    else await this.sigma.getCamera().animate(state, { duration: 250 });
  }

  /** Let the page scroll under wheel and finger until the graph has the focus. */
  private leavePageScrolling(): void {
    const { container } = this;
    const idle = (event: Event): void => {
      const fingers = "touches" in event ? (event as TouchEvent).touches.length : 1;
      if (fingers < 2 && !container.contains(document.activeElement)) event.stopPropagation();
    };
    for (const name of ["wheel", "touchstart", "touchmove", "touchend"]) {
      container.addEventListener(name, idle, { capture: true, passive: true });
    }
    container.addEventListener("click", () => container.focus({ preventScroll: true }));
  }
}

function readColours(element: HTMLElement): Colours {
  const style = getComputedStyle(element);
  const read = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    broker: read("graph-broker"),
    link: read("graph-link"),
    label: read("text"),
    page: read("page"),
    accent: read("accent"),
    relay: read("partly"),
  };
}

function meet(one: Box, other: Box): boolean {
  const apart = one.right < other.left || other.right < one.left;
  return !apart && Math.abs(one.middle - other.middle) < NAME_SIZE;
}

function range(values: number[]): [number, number] {
  return [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
}

function shorten(name: string): string {
  return name.length > LONGEST_LABEL ? `${name.slice(0, LONGEST_LABEL - 1)}…` : name;
}
