/**
 * The denied connections of one look: all of them, or as many as there is room for, since each takes memory until it is
 * cut. Where there are more, who has most waits for the next look: a pod of which a hundred thousand are denied keeps
 * those of no other waiting.
 */
import type { Address } from '../../model/address.ts';
import type { Connection } from '../../nft/conntrack.ts';

export class DeniedConnections {
  readonly #most: number;
  readonly #byPod = new Map<Address, Connection[]>();
  #size = 0;
  /** No pod has more. */
  #bound = 0;
  #isPartial = false;

  constructor(most: number) {
    this.#most = most;
  }

  /** Some of them are left for another look. */
  get isPartial(): boolean {
    return this.#isPartial;
  }

  /** By pods. */
  get all(): Connection[] {
    return [...this.#byPod.values()].flat();
  }

  /** Whether one more of the pod that may not have it is taken; one of another pod may have to go for it. */
  hasRoomFor(pod: Address): boolean {
    const room = this.#size < this.#most || this.#isFarBelowMost(this.#of(pod).length + 1);
    if (!room) this.#isPartial = true;
    return room;
  }

  /** Asked of very many: pods are looked through only where the bound does not tell. */
  #isFarBelowMost(count: number): boolean {
    if (count >= this.#bound) return false;
    this.#bound = this.#longest().length;
    return count < this.#bound;
  }

  add(pod: Address, connection: Connection): void {
    if (this.#size < this.#most) this.#size++;
    else {
      this.#longest().pop();
      this.#isPartial = true;
    }
    const own = this.#of(pod);
    own.push(connection);
    this.#bound = Math.max(this.#bound, own.length);
    this.#byPod.set(pod, own);
  }

  #of(pod: Address): Connection[] {
    return this.#byPod.get(pod) ?? [];
  }

  #longest(): Connection[] {
    let longest: Connection[] = [];
    for (const own of this.#byPod.values()) if (own.length > longest.length) longest = own;
    return longest;
  }
}
