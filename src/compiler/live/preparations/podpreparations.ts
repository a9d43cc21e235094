/**
 * Pods of this node whose labels, or whose namespace's labels, have changed. They may need classes that no other pod is
 * in and whose groups are all new. So such a pod is applied only when its classes are prepared:
 *
 *     relabelled ─▶ its classes are in use, are prepared, or look at few pods ── yes ─▶ applied
 *                      │ no
 *                      ├─▶ it stays as it was, and the classes of the first such pod of each namespace are
 *                      │   prepared (preparations.ts)
 *                      └─▶ it has waited too long ─▶ applied isolated only ─▶ its classes are prepared ─▶ applied whole
 *
 * A pod that is isolated only is isolated by every policy that selects it, is denied what these deny, and is allowed
 * nothing. That needs no groups but those of deny rules. So a label takes effect after the longest wait at the latest,
 * and relabelling a pod again and again makes no flush longer.
 */
import { namespaceOfPod, type Pod, type PodKey, sameNamespace } from '../../../model/cluster.ts';
import { PODS_PER_ENTRY } from '../../../model/policysize.ts';
import { type PodClass, tenantOf } from '../../classes.ts';
import { factsOf } from '../../policyfacts.ts';
import { className } from '../../program.ts';
import type { LiveParts } from '../liveparts.ts';
import type { KnownPod } from '../pods/podindex.ts';
import { countPeersLookedAt, type LivePreparations, type PreparationRequest } from './preparations.ts';

/** For how many flushes a pod stays as it was. There are ten flushes in a second. */
export interface PodPatience {
  /** Where its new policies isolate it in a direction in which it was not isolated, or deny more. */
  readonly isolating: number;
  /** In other cases; as long as for an edit of a policy that allows less. */
  readonly others: number;
}

export const POD_PATIENCE: PodPatience = { isolating: 10, others: 600 };

/** How a flush applies a pod. */
interface Admission {
  /** The pod as it is applied; undefined if it stays as it was. */
  readonly as: Pod | undefined;
  /** Whether a later flush has to apply it again. */
  readonly waits: boolean;
  /** About how many pods its new groups look at. */
  readonly lookedAt: number;
}

interface Waiting {
  readonly since: number;
  /** The classes that the pod will be in and that no pod is in now. */
  missing: readonly PodClass[];
  /** The pod as it was applied isolated only. */
  closed: KnownPod | undefined;
}

export class PodPreparations {
  readonly #live: LiveParts;
  readonly #preparations: LivePreparations;
  readonly #patience: PodPatience;
  /** The waiting pods, in the order in which they began to wait. */
  readonly #waiting = new Map<PodKey, Waiting>();
  #flushes = 0;
  /** Pods wait, or did so when something was last requested for them: `prepare` has something to do. */
  isBusy = false;

  constructor(live: LiveParts, preparations: LivePreparations, patience: PodPatience) {
    this.#live = live;
    this.#preparations = preparations;
    this.#patience = patience;
  }

  /** Decides how a flush with a budget of `most` pods applies a pod of which only labels have changed. */
  admit(next: KnownPod, most: number): Admission {
    const { key } = next.pod;
    const classes = this.#live.placements.classesOf(next);
    const missing = classes.filter(podClass => !this.#live.classes.has(podClass));
    const lookedAt = this.#countLookedAt(missing, most);
    if (lookedAt <= most) {
      this.#waiting.delete(key);
      return { as: next.pod, waits: false, lookedAt };
    }
    this.isBusy = true;
    return { as: this.#meanwhile(next, classes, missing), waits: true, lookedAt: 0 };
  }

  /** Call when the pod is applied whatever it needs, or is gone. */
  forget(key: PodKey): void {
    this.#waiting.delete(key);
  }

  /** Call at the end of a flush: prepares the classes of the first waiting pod of each namespace. */
  prepare(): void {
    this.#flushes++;
    this.isBusy = this.#waiting.size > 0;
    const first = new Map<string, Waiting>();
    for (const [key, waiting] of this.#waiting) {
      const namespace = namespaceOfPod(key);
      if (!first.has(namespace)) first.set(namespace, waiting);
    }
    // A preparation may wait for room that the pod's former classes take; these end when the pod is isolated only.
    const requests = [...first.values()].flatMap(({ missing, closed }) =>
      missing.map(podClass => comingOf(podClass, closed === undefined)),
    );
    this.#preparations.request('pod', requests);
  }

  /** About how many pods the groups that are neither in use nor prepared look at; stops counting beyond `most`. */
  #countLookedAt(missing: readonly PodClass[], most: number): number {
    let asked = 0;
    for (const podClass of missing) {
      if (asked > most) return asked;
      if (this.#preparations.isReady(comingOf(podClass))) continue;
      asked += PODS_PER_ENTRY * entriesOf(podClass);
      const rules = podClass.policies.flatMap(policy => policy[podClass.direction] ?? []);
      asked += countPeersLookedAt(rules, this.#live.podIndex, most + 1 - asked);
    }
    return asked;
  }

  /** The pod as it is applied while its classes are not prepared; undefined if it stays as it was. */
  #meanwhile(next: KnownPod, classes: readonly PodClass[], missing: readonly PodClass[]): Pod | undefined {
    const { key } = next.pod;
    const { since = this.#flushes, closed } = this.#waiting.get(key) ?? {};
    const isDue = closed !== undefined || this.#flushes - since >= this.#patienceOf(key, classes);
    this.#waiting.set(key, { since, missing, closed: isDue ? next : undefined });
    if (!isDue || isSame(closed, next)) return undefined;
    return { ...next.pod, closed: 'rules follow' };
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

/** In one direction: where NetworkPolicies select the pod already, further ones only allow more. */
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
