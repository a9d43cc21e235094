/** One set of the fake kernel, with its elements. */

import { countUpTo, type Interval, intervals, parseInterval } from '../../../src/nft/interval.ts';
import { specsEqual, valuesEqual } from '../../../src/nft/plan/equal.ts';
import {
  type ElementKey,
  type Elements,
  type ElementValue,
  isMember,
  MEMBER,
  type NftSet,
  type SetSpec,
} from '../../../src/nft/ruleset.ts';
import { Refusal } from './refusal.ts';

export class FakeSet {
  readonly #spec: SetSpec;
  readonly #size: number;
  #elements = new Map<ElementKey, ElementValue>();
  #intervals: Interval[] | undefined;
  /** Whether the elements may be changed in place: not while a clone or a snapshot shares them. */
  #own = true;

  constructor(spec: SetSpec, size: number) {
    if (spec.key.length === 0 || (spec.interval && spec.key.length > 1))
      throw new Refusal('EINVAL', 'no such key');
    this.#spec = spec;
    this.#size = size;
  }

  get elements(): Elements {
    return this.#elements;
  }

  get spec(): SetSpec {
    return this.#spec;
  }

  get verdicts(): boolean {
    return this.#spec.verdicts;
  }

  /** Packets may change it. */
  get isDynamic(): boolean {
    return this.#spec.dynamic !== undefined;
  }

  /** Whether it is a map to data, and not to verdicts. */
  get hasData(): boolean {
    return this.#spec.data !== undefined;
  }

  /** Whether an element has what this kind of set asks for: a verdict, data, or neither. */
  takes({ verdict, data }: ElementValue): boolean {
    return (
      this.#spec.verdicts === (verdict !== undefined) &&
      (this.#spec.data !== undefined) === (data !== undefined)
    );
  }

  /** Comments aside. */
  isLike({ comment: _, ...spec }: SetSpec): boolean {
    const { comment: __, ...own } = this.#spec;
    return specsEqual(own, spec);
  }

  clone(): FakeSet {
    const clone = new FakeSet(this.#spec, this.#size);
    clone.#elements = this.#elements;
    clone.#own = this.#own = false;
    return clone;
  }

  snapshot(): NftSet {
    this.#own = false;
    // Zero is no limit, and not sent.
    return { ...this.#spec, ...(this.#size > 0 && { size: this.#size }), elements: this.#elements };
  }

  /** Answers whether the element is new. One that exists keeps its comment. */
  add(key: ElementKey, value: ElementValue): boolean {
    const current = this.#elements.get(key);
    if (current !== undefined) {
      if (!valuesEqual(withoutComment(current), withoutComment(value)))
        throw new Refusal('EEXIST', `element ${key} exists with another value`);
      return false;
    }
    if (this.#spec.interval) this.#refuseOverlap(key);
    if (this.#size > 0 && this.#elements.size >= this.#size) throw new Refusal('ENFILE', 'the set is full');
    if (this.#spec.interval) this.#insertInterval(key);
    this.#ownElements().set(key, isMember(value) ? MEMBER : value);
    return true;
  }

  delete(key: ElementKey): ElementValue {
    const value = this.#elements.get(key);
    if (value === undefined)
      throw new Refusal('ENOENT', `element ${key} of ${this.#spec.name} does not exist`);
    this.#ownElements().delete(key);
    this.#intervals = undefined;
    return value;
  }

  #ownElements(): Map<ElementKey, ElementValue> {
    if (!this.#own) this.#elements = new Map(this.#elements);
    this.#own = true;
    return this.#elements;
  }

  /** Adjacent intervals are fine, as is the same one again. */
  #refuseOverlap(key: ElementKey): void {
    const sorted = this.#sortedIntervals();
    const interval = parseInterval(this.#spec.key[0]!, key);
    const below = sorted[countUpTo(sorted, interval.last) - 1];
    if (below !== undefined && below.last >= interval.first)
      throw new Refusal('EEXIST', `element ${key} overlaps ${below.key}`);
  }

  #insertInterval(key: ElementKey): void {
    const sorted = this.#sortedIntervals();
    const interval = parseInterval(this.#spec.key[0]!, key);
    sorted.splice(countUpTo(sorted, interval.first), 0, interval);
  }

  #sortedIntervals(): Interval[] {
    this.#intervals ??= intervals({ key: this.#spec.key, elements: this.#elements });
    return this.#intervals;
  }
}

function withoutComment({ comment: _, ...value }: ElementValue): ElementValue {
  return value;
}
