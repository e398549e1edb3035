// What Python hands over: the graph with its layout, and a tree per topic. See report/graph_data.py.

export interface Payload {
  brokers: {
    names: string[];
    /** Places, as whole numbers of any scale. */
    x: number[];
    y: number[];
    /** Links in the whole plan, also where the view shows a sample. */
    degrees: number[];
    /** Topics that each broker subscribes to. */
    topics: number[];
  };
  links: { u: number[]; v: number[] };
  topics: {
    names: string[];
    subscribers: number[];
    /** By topic: ascending links of its tree, each as the difference to the one before. */
    trees: number[][];
    /** By topic: the root of its tree, or -1. */
    roots: number[];
    /** Brokers that only pass messages on, for the topics that have any. */
    relays: Record<string, number[]>;
  };
}

/** Read the payload: JSON, deflated, in base64. */
export async function readPayload(text: string): Promise<Payload> {
  const bytes = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return (await new Response(plain).json()) as Payload;
}

/** Return the links of a topic's tree. */
export function treeLinks(payload: Payload, topic: number): number[] {
  let last = 0;
  return (payload.topics.trees[topic] ?? []).map((step) => (last += step));
}
