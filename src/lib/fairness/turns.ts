/**
 * The order in which waiting DNS answers are read: one of each namespace in turn, and within a namespace one of each
 * pod in turn. So a pod with many answers delays its own, and others by one answer.
 */

/** For each pod: answers beyond this are delivered without being read. */
export const MOST_WAITING_OF_POD = { packets: 256, bytes: 512 << 10 } as const;

export interface Waiting {
  /** The size of a waiting answer, in bytes of memory. */
  readonly size: number;
}

interface Line<T> {
  readonly items: T[];
  bytes: number;
}

export class Turns<Pod extends string, T extends Waiting> {
  readonly #namespaceOf: (pod: Pod) => string;
  /** The waiting answers by namespace and pod, each in the order of turns. */
  readonly #namespaces = new Map<string, Map<Pod, Line<T>>>();

  constructor(namespaceOf: (pod: Pod) => string) {
    this.#namespaceOf = namespaceOf;
  }

  get isEmpty(): boolean {
    return this.#namespaces.size === 0;
  }

  /** Returns whether there was room. */
  put(pod: Pod, item: T): boolean {
    const namespace = this.#namespaceOf(pod);
    const pods = this.#namespaces.get(namespace) ?? new Map<Pod, Line<T>>();
    const line = pods.get(pod) ?? { items: [], bytes: 0 };
    const { packets, bytes } = MOST_WAITING_OF_POD;
    if (line.items.length >= packets || line.bytes + item.size > bytes) return false;
    line.items.push(item);
    line.bytes += item.size;
    this.#namespaces.set(namespace, pods.set(pod, line));
    return true;
  }

  next(): { readonly pod: Pod; readonly item: T } | undefined {
    for (const [namespace, pods] of this.#namespaces)
      for (const [pod, line] of pods) {
        const item = line.items.shift()!;
        line.bytes -= item.size;
        pods.delete(pod);
        if (line.items.length > 0) pods.set(pod, line);
        this.#namespaces.delete(namespace);
        if (pods.size > 0) this.#namespaces.set(namespace, pods);
        return { pod, item };
      }
    return undefined;
  }
}
