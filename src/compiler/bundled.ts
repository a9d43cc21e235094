/**
 * Decides which classes have their small policies in bundles (shares.ts). Merged policies take one look-up, but an edit
 * of one compiles all of them again; bundles take a look-up each. So classes are bundled for which an edit would
 * compile too much.
 */
import { getOrMake } from '../lib/collections/getormake.ts';
import { type PodClass, tenantOf } from './classes.ts';
import { factsOf } from './policyfacts.ts';
import { className } from './program.ts';
import { isSmallPolicy } from './shares.ts';

/**
 * Above so many entries policies are bundled: in one class, which is compiled in one piece (some 15 ms), or in all
 * classes of a namespace together (some 20 ms).
 */
const MOST_OF_CLASS = 6_000;
const MOST_OF_NAMESPACE = 8_000;

export interface Share {
  readonly namespace: string;
  /** The namespace and direction, as text, whose total the class's entries count for. */
  readonly place: string;
  readonly entries: number;
}

/** The small policies of all classes in use, by the name of the class. */
export class BundledClasses {
  readonly #classes = new Map<string, Share>();
  /** The number of entries of each namespace and direction. */
  readonly #places = new Map<string, number>();
  #changed = false;

  /** Adds the class of that name, or replaces an earlier version of it. */
  set(name: string, podClass: PodClass): void {
    this.delete(name);
    const share = shareOf(podClass);
    if (share === undefined) return;
    this.#changed = true;
    this.#classes.set(name, share);
    this.#places.set(share.place, (this.#places.get(share.place) ?? 0) + share.entries);
  }

  delete(name: string): void {
    const share = this.#classes.get(name);
    if (share === undefined) return;
    this.#changed = true;
    this.#classes.delete(name);
    const left = this.#places.get(share.place)! - share.entries;
    if (left > 0) this.#places.set(share.place, left);
    else this.#places.delete(share.place);
  }

  /** How much the class counts for which place; undefined for a class without small NetworkPolicies. */
  share(name: string): Share | undefined {
    return this.#classes.get(name);
  }

  /** Whether a class has come, gone or changed since the last call, so that other classes may have to be bundled. */
  takeChanged(): boolean {
    const changed = this.#changed;
    this.#changed = false;
    return changed;
  }

  has(name: string): boolean {
    const share = this.#classes.get(name);
    return share !== undefined && this.#isBundled(share, 0);
  }

  /** Whether one of these classes would be bundled if all of them were in use. */
  wouldBundle(podClass: PodClass, all: readonly PodClass[]): boolean {
    const share = shareOf(podClass);
    return share !== undefined && this.#isBundled(share, this.#moreIn(share.place, all));
  }

  /** How many more entries would count for a namespace and direction if these classes were in use. */
  #moreIn(place: string, classes: readonly PodClass[]): number {
    let more = 0;
    for (const podClass of classes) {
      const [share, now] = [shareOf(podClass), this.#classes.get(className(podClass))];
      if (share?.place === place) more += share.entries;
      if (now?.place === place) more -= now.entries;
    }
    return more;
  }

  /** Whether the class is bundled if its place has so many more entries than are counted. */
  #isBundled({ place, entries }: Share, more: number): boolean {
    return entries > MOST_OF_CLASS || (this.#places.get(place) ?? 0) + more > MOST_OF_NAMESPACE;
  }
}

/** A class object that was prepared is the same object that pods join later. */
const shares = new WeakMap<PodClass, Share | 'none'>();

function shareOf(podClass: PodClass): Share | undefined {
  const share = getOrMake(shares, podClass, () => newShare(podClass) ?? 'none');
  return share === 'none' ? undefined : share;
}

/** The small NetworkPolicies of a class count for the namespace of the pods that they select. */
function newShare({ policies, direction }: PodClass): Share | undefined {
  const small = policies.filter(
    policy => policy.tier === 'networkpolicy' && isSmallPolicy(policy, direction),
  );
  const namespace = tenantOf(small);
  if (namespace === undefined) return undefined;
  const entries = small.reduce((sum, policy) => sum + factsOf(policy).entries[direction], 0);
  return { namespace, place: `${direction} ${namespace}`, entries };
}
