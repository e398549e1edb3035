// A text field that offers matching names, by mouse and by keyboard (the ARIA combobox pattern).

const MOST_SHOWN = 12;

export class Combobox {
  private shown: number[] = [];
  private active = -1;
  private readonly folded: string[];

  constructor(
    readonly input: HTMLInputElement,
    readonly list: HTMLElement,
    readonly names: string[],
    readonly describe: (index: number) => string,
    readonly choose: (index: number) => void,
  ) {
    this.folded = names.map((name) => name.toLocaleLowerCase());
    input.addEventListener("input", () => this.open());
    input.addEventListener("focus", () => this.open());
    input.addEventListener("blur", () => this.close());
    input.addEventListener("keydown", (event) => this.key(event));
    list.addEventListener("pointerdown", (event) => event.preventDefault()); // keep the focus in the field
  }

  /** Show the name of a choice, without choosing it again. */
  set(index: number): void {
    this.input.value = index < 0 ? "" : this.names[index]!;
    this.close();
  }

  private matches(): number[] {
    const text = this.input.value.trim().toLocaleLowerCase();
    const [begin, inside]: [number[], number[]] = [[], []];
    for (let i = 0; i < this.folded.length && begin.length < MOST_SHOWN; i++) {
      const at = this.folded[i]!.indexOf(text);
      if (at === 0) begin.push(i);
      else if (at > 0 && inside.length < MOST_SHOWN) inside.push(i);
    }
    return [...begin, ...inside].slice(0, MOST_SHOWN);
  }

  private open(): void {
    this.shown = this.matches();
    this.active = -1;
    this.list.replaceChildren(...this.shown.map((index, place) => this.option(index, place)));
    if (!this.shown.length) {
      const none = document.createElement("li");
      none.textContent = "nothing matches";
      none.className = "soft";
      this.list.append(none);
    }
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
  }

  private close(): void {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  private option(index: number, place: number): HTMLElement {
    const option = document.createElement("li");
    option.id = `${this.list.id}-${place}`;
    option.setAttribute("role", "option");
    const name = document.createElement("bdi");
    name.textContent = this.names[index]!;
    const detail = document.createElement("small");
    detail.textContent = ` ${this.describe(index)}`;
    option.append(name, detail);
    option.addEventListener("click", () => this.take(index));
    return option;
  }

  private take(index: number): void {
    this.set(index);
    this.choose(index);
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Escape") {
      if (this.list.hidden) this.take(-1);
      this.close();
    } else if (event.key === "Enter") {
      const index = this.shown[Math.max(0, this.active)];
      if (index !== undefined && !this.list.hidden) this.take(index);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (this.list.hidden) this.open();
      this.activate(this.active + (event.key === "ArrowDown" ? 1 : -1));
    } else return;
    event.preventDefault();
  }

  private activate(place: number): void {
    if (!this.shown.length) return;
    this.active = (place + this.shown.length) % this.shown.length;
    [...this.list.children].forEach((option, i) => {
      option.setAttribute("aria-selected", String(i === this.active));
    });
    const active = this.list.children[this.active]!;
    active.scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", active.id);
  }
}
