/**
 * Pods of this node that say something else, or whose namespace does. By that a pod may be in classes that no other pod is
 * in, whose groups are all new: it is taken in when these are there.
 *
 *     relabelled ─▶ its classes are in use, or made ready, or ask few pods ── yes ─▶ taken in
 *                      │ no
 *                      ├─▶ it waits as it was; of each namespace, what the first one needs is made ready (preparations.ts)
 *                      └─▶ its patience is at an end ─▶ taken in as one that awaits its allowances ─▶ they are ready: whole
 *
 * Whoever awaits allowances is isolated by all that selects it, and denied what that denies, and nothing is allowed to it
 * by a policy. That takes no groups but those of denials. So a label is in force after the patience at the latest, and to
 * relabel a pod again and again makes no flush longer than another.
 */
import { namespaceOfPod, type Pod, type PodKey, sameNamespace } from '../../../model/cluster.ts';
import { ASKED_AS_ENTRY } from '../../../model/policysize.ts';
import { type PodClass, tenantOf } from '../../classes.ts';
import { factsOf } from '../../policyfacts.ts';
import { className } from '../../program.ts';
import type { LiveParts } from '../liveparts.ts';
import type { KnownPod } from '../pods/podindex.ts';
import { countAskedBy, type LivePreparations, type PreparationRequest } from './preparations.ts';

/** For how many flushes a pod stays what it was: ten in a second. */
export interface PodPatience {
  /** What selects it now isolates it where it was not isolated, or denies more. */
  readonly isolating: number;
  /** As for an edit of a policy that allows less. */
  readonly others: number;
}

export const POD_PATIENCE: PodPatience = { isolating: 10, others: 600 };

/** How a pod is taken in by this flush. */
interface Admission {
  /** Nothing where it stays as it is in force. */
  readonly as: Pod | undefined;
  /** For the next flush there is more to be taken in of it. */
  readonly waits: boolean;
  /** About how many pods its new groups ask. */
  readonly asks: number;
}

interface Waiting {
  readonly since: number;
  /** The classes that it will be in, and nobody is in now. */
  missing: readonly PodClass[];
  /** As it has been taken in meanwhile, without allowances. */
  closed: KnownPod | undefined;
}

export class PodPreparations {
  readonly #live: LiveParts;
  readonly #preparations: LivePreparations;
  readonly #patience: PodPatience;
  /** Who came first is first. */
  readonly #waiting = new Map<PodKey, Waiting>();
  #flushes = 0;

  constructor(live: LiveParts, preparations: LivePreparations, patience: PodPatience) {
    this.#live = live;
    this.#preparations = preparations;
    this.#patience = patience;
  }

  /** A pod that is in force otherwise is to be this, where a flush may ask `most` pods. */
  admit(next: KnownPod, most: number): Admission {
    const { key } = next.pod;
    const classes = this.#live.placements.classesOf(next);
    const missing = classes.filter(podClass => !this.#live.classes.has(podClass));
    const asks = this.#asks(missing, most);
    if (asks <= most) {
      this.#waiting.delete(key);
      return { as: next.pod, waits: false, asks };
    }
    return { as: this.#meanwhile(next, classes, missing), waits: true, asks: 0 };
  }

  /** It is taken in now whatever it needs, or is gone. */
  forget(key: PodKey): void {
    this.#waiting.delete(key);
  }

  /** A flush has taken in what it can: of those that wait, the first one of each namespace is made ready. */
  prepare(): void {
    this.#flushes++;
    const first = new Map<string, Waiting>();
    for (const [key, waiting] of this.#waiting) {
      const namespace = namespaceOfPod(key);
      if (!first.has(namespace)) first.set(namespace, waiting);
    }
    // What it was may take the room that its classes need: it goes when it awaits its allowances.
    const requests = [...first.values()].flatMap(({ missing, closed }) =>
      missing.map(podClass => comingOf(podClass, closed === undefined)),
    );
    this.#preparations.request('pod', requests);
  }

  /** About how many pods are asked for what is neither there nor made ready; no further than to beyond `most`. */
  #asks(missing: readonly PodClass[], most: number): number {
    let asked = 0;
    for (const podClass of missing) {
      if (asked > most) return asked;
      if (this.#preparations.isReady(comingOf(podClass))) continue;
      asked += ASKED_AS_ENTRY * entriesOf(podClass);
      const rules = podClass.policies.flatMap(policy => policy[podClass.direction] ?? []);
      asked += countAskedBy(rules, this.#live.podIndex, most + 1 - asked);
    }
    return asked;
  }

  /** Nothing where it stays as it is. */
  #meanwhile(next: KnownPod, classes: readonly PodClass[], missing: readonly PodClass[]): Pod | undefined {
    const { key } = next.pod;
    const { since = this.#flushes, closed } = this.#waiting.get(key) ?? {};
    const isDue = closed !== undefined || this.#flushes - since >= this.#patienceOf(key, classes);
    this.#waiting.set(key, { since, missing, closed: isDue ? next : undefined });
    if (!isDue || isSame(closed, next)) return undefined;
    return { ...next.pod, isolateOnly: true };
  }

  #patienceOf(key: PodKey, classes: readonly PodClass[]): number {
    const now = this.#live.placements.classesIn(key);
    const isolates = classes.some(podClass => {
      const before = now.find(({ direction }) => direction === podClass.direction);
      return isolatesMore(before, podClass);
    });
    return isolates ? this.#patience.isolating : this.#patience.others;
  }
}

function isSame(a: KnownPod | undefined, b: KnownPod): boolean {
  return a?.pod === b.pod && sameNamespace(a.namespace, b.namespace);
}

/** In one direction: where there are NetworkPolicies already, more of them only allow more. */
function isolatesMore(before: PodClass | undefined, after: PodClass): boolean {
  const known = new Set(before?.policies.map(({ tier, id }) => (tier === 'networkpolicy' ? tier : id)));
  return after.policies.some(({ tier, id }) => !known.has(tier === 'networkpolicy' ? tier : id));
}

function comingOf(podClass: PodClass, waitsForRoom = true): PreparationRequest {
  return {
    of: 'pod',
    key: className(podClass),
    namespace: tenantOf(podClass.policies) ?? '',
    waitsForRoom,
    weight: entriesOf(podClass),
    inputs: () => new Set(podClass.policies),
    *targetClasses() {
      yield;
      return [podClass];
    },
  };
}

function entriesOf({ policies, direction }: PodClass): number {
  return policies.reduce((sum, policy) => sum + factsOf(policy).entries[direction], 0);
}
