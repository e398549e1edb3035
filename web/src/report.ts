// The report page: mount the graph view, and connect it with the fields, buttons and tables around it.

import { Combobox } from "./combobox";
import { GraphView, type Highlight } from "./graph_view";
import { type Payload, readPayload, treeLinks } from "./payload";

const MOST_NEIGHBOURS = 12;
const NONE: ReadonlySet<number> = new Set();

const plural = (count: number, one: string): string => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;

function element<Kind extends HTMLElement>(id: string): Kind {
  return document.getElementById(id) as Kind;
}

class Page {
  readonly view: GraphView;
  private readonly brokers: Combobox;
  private readonly topics: Combobox;
  private readonly linksOf: number[][];

  constructor(private readonly payload: Payload) {
    this.linksOf = payload.brokers.names.map(() => []);
    payload.links.u.forEach((u, link) => {
      this.linksOf[u]!.push(link);
      this.linksOf[payload.links.v[link]!]!.push(link);
    });
    this.view = new GraphView(element("graph-view"), payload);
    this.view.onSelect = (broker) => this.selectBroker(broker, false);
    const { brokers, topics } = payload;
    this.brokers = new Combobox(
      element("find-broker"), element("broker-list"), brokers.names,
      (i) => plural(brokers.degrees[i]!, "link"), (i) => this.selectBroker(i),
    );
    this.topics = new Combobox(
      element("find-topic"), element("topic-list"), topics.names,
      (i) => plural(topics.subscribers[i]!, "broker"), (i) => this.selectTopic(i),
    );
    element("zoom-in").addEventListener("click", () => void this.view.zoom(1 / 1.5));
    element("zoom-out").addEventListener("click", () => void this.view.zoom(1.5));
    element("zoom-all").addEventListener("click", () => {
      this.selectBroker(-1);
      void this.view.reset();
    });
    document.addEventListener("click", (event) => this.follow(event));
    this.say();
  }

  selectBroker(broker: number, move = true): void {
    this.brokers.set(broker);
    this.topics.set(-1);
    if (broker < 0) {
      this.view.show(null);
      this.say();
      return;
    }
    const links = this.linksOf[broker]!;
    const { u, v } = this.payload.links;
    const neighbours = links.map((link) => (u[link] === broker ? v[link]! : u[link]!));
    this.present({ links, brokers: [broker, ...neighbours], centre: broker, relays: NONE }, move);
    const { names, degrees, topics } = this.payload.brokers;
    const hidden = degrees[broker]! - links.length;
    this.say(
      names[broker]!,
      `${plural(degrees[broker]!, "link")}, ${plural(topics[broker]!, "topic")}` +
        (hidden ? ` (${plural(hidden, "link")} not shown)` : ""),
      neighbours,
    );
  }

  selectTopic(topic: number): void {
    this.topics.set(topic);
    this.brokers.set(-1);
    if (topic < 0) {
      this.view.show(null);
      this.say();
      return;
    }
    const links = treeLinks(this.payload, topic);
    const { u, v } = this.payload.links;
    const brokers = [...new Set(links.flatMap((link) => [u[link]!, v[link]!]))];
    const { names, subscribers, roots, relays } = this.payload.topics;
    const passing = new Set(relays[topic] ?? []);
    this.present({ links, brokers, centre: roots[topic]!, relays: passing }, true);
    const root = roots[topic]! >= 0 ? `, root ${this.payload.brokers.names[roots[topic]!]!}` : "";
    this.say(
      names[topic]!,
      `${plural(subscribers[topic]!, "broker")}, ${plural(links.length, "link")}${root}` +
        (passing.size ? `; ${plural(passing.size, "relay")} (hollow)` : ""),
    );
  }

  private present(highlight: Highlight, move: boolean): void {
    this.view.show(highlight);
    if (move) void this.view.frame(highlight.brokers);
  }

  /** Say what is selected, also to screen readers; names are text, never markup. */
  private say(name = "", detail = "", neighbours: number[] = []): void {
    const status = element("graph-status");
    status.replaceChildren();
    if (!name) {
      status.textContent = "Nothing selected.";
      return;
    }
    const title = document.createElement("bdi");
    title.textContent = name;
    title.className = "name";
    status.append(title, ` ${detail}`);
    if (!neighbours.length) return;
    status.append(". Linked to: ");
    neighbours.slice(0, MOST_NEIGHBOURS).forEach((broker, i) => {
      const link = document.createElement("a");
      link.href = "#graph";
      link.dataset["broker"] = String(broker);
      const text = document.createElement("bdi");
      text.textContent = this.payload.brokers.names[broker]!;
      link.append(text);
      status.append(i ? ", " : "", link);
    });
    if (neighbours.length > MOST_NEIGHBOURS) status.append(`, and ${neighbours.length - MOST_NEIGHBOURS} more`);
  }

  /** Names in tables lead to the graph. */
  private follow(event: MouseEvent): void {
    const link = (event.target as Element).closest?.<HTMLElement>("a[data-broker], a[data-topic]");
    if (!link) return;
    if (link.dataset["broker"] !== undefined) this.selectBroker(Number(link.dataset["broker"]));
    else this.selectTopic(Number(link.dataset["topic"]));
  }
}

function painted(section: HTMLElement): void {
  performance.mark("graph-painted");
  section.classList.add("painted");
}

async function start(): Promise<void> {
  const section = document.getElementById("graph");
  if (!section) return;
  try {
    const payload = await readPayload(element("graph-data").textContent ?? "");
    section.classList.add("live");
    await new Page(payload).view.painted;
    requestAnimationFrame(() => setTimeout(() => painted(section)));
  } catch (error) {
    section.classList.remove("live");
    element("graph-status").textContent =
      `The graph cannot be drawn here (${error instanceof Error ? error.message : error}); the picture shows it.`;
  }
}

void start();
