/**
 * Events that wait to be said. Namespaces take turns, and where there are too many, whoever has most loses its last one: a
 * tenant that has thousands to be told of keeps no other from hearing of his.
 */
import { getOrMake } from '../../../lib/collections/getormake.ts';
import { largest } from '../../../lib/fairness/quota.ts';
import type { EventSpec } from './event.ts';

export interface WaitingEvent {
  readonly name: string;
  readonly spec: EventSpec;
  tries: number;
}

export class WaitingEvents {
  readonly #most: number;
  /** Of each namespace by name, the next one first; the namespace whose turn is next comes first. */
  readonly #namespaces = new Map<string, Map<string, WaitingEvent>>();
  #size = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#size;
  }

  /** Behind those of its namespace; answers whether it waits now. */
  add(event: WaitingEvent): boolean {
    const namespace = namespaceOf(event);
    const its = getOrMake(this.#namespaces, namespace, () => new Map<string, WaitingEvent>());
    if (its.has(event.name)) return true;
    its.set(event.name, event);
    this.#size++;
    if (this.#size > this.#most) this.#dropOne();
    return this.#namespaces.get(namespace)?.has(event.name) ?? false;
  }

  /** It waits no more; answers whether it did. */
  delete(name: string): boolean {
    for (const [namespace, its] of this.#namespaces) {
      if (!its.delete(name)) continue;
      this.#size--;
      if (its.size === 0) this.#namespaces.delete(namespace);
      return true;
    }
    return false;
  }

  /** The one whose turn it is, which stays until it is deleted; its namespace's next turn comes after all others'. */
  next(): WaitingEvent | undefined {
    const [first] = this.#namespaces;
    if (first === undefined) return undefined;
    const [namespace, its] = first;
    this.#namespaces.delete(namespace);
    this.#namespaces.set(namespace, its);
    return [...its.values()][0];
  }

  #dropOne(): void {
    const its = largest(this.#namespaces.values(), ({ size }) => size)!;
    this.delete([...its.keys()].at(-1)!);
  }
}

function namespaceOf({ spec: { about } }: WaitingEvent): string {
  return about.namespace ?? '';
}
