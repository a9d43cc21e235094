/** The set of a group of peers as its members come and go. */
import { MemberHistory } from '../../../nft/plan/history.ts';
import type { ElementKey, NftSet, SetSpec } from '../../../nft/ruleset.ts';

/** A group's set of one family. A key begins with its address, so that it tells its family. */
export class LiveSet {
  readonly #members = new MemberHistory();
  /** How many members more than one put a key in; of nearly all keys, none. */
  readonly #others = new Map<ElementKey, number>();
  #set: NftSet;

  constructor(spec: SetSpec) {
    this.#set = { ...spec, elements: this.#members.now() };
  }

  add(key: ElementKey): void {
    if (!this.#members.add(key)) this.#others.set(key, (this.#others.get(key) ?? 0) + 1);
  }

  delete(key: ElementKey): void {
    const others = this.#others.get(key) ?? 0;
    if (others === 0) this.#members.delete(key);
    else if (others === 1) this.#others.delete(key);
    else this.#others.set(key, others - 1);
  }

  get size(): number {
    return this.#members.size;
  }

  /** The same object until a member changes. */
  now(): NftSet {
    const elements = this.#members.now();
    if (elements !== this.#set.elements) this.#set = { ...this.#set, elements };
    return this.#set;
  }
}
