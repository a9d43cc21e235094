import { getOrMake } from '../../../lib/collections/getormake.ts';
import { type ClusterEvent, namespaceOfPod, type Pod, type PodKey } from '../../../model/cluster.ts';
import { podMark } from '../../../model/podmark.ts';
import { type Direction, namespaceOfPolicy, type Policy, withoutRules } from '../../../model/policy.ts';
import { EVERYTHING, matchLabels } from '../../../model/selector.ts';

/**
 * Keeps the isolation by policies of a namespace that is being deleted until its last pod is gone. The server deletes
 * its objects in any order, so policies may vanish half a minute before the pods that they isolate.
 *
 * Another watch reports whether a namespace is being deleted, and it may be late, cut or dead. So if a policy is gone
 * and its pods are not, the deletion waits until the server has answered a question that was asked after it:
 *
 *     deletion ─▶ open ── lives ──▶ published
 *                  │ ▲
 *     is ending, or│ │ asked again         Held: what the policy allowed is removed, what it denied stays.
 *     no answer    ▼ │
 *                 held ── last pod is gone ──▶ published
 *
 * An agent that starts meanwhile cannot read policies that are deleted already, but the rules that it finds in force
 * show which pods were isolated. If no policy isolates such a pod any more, one was deleted: the agent acts as if that
 * deletion had just arrived, and as if the policy had isolated all pods of the namespace.
 */
export class TerminatingNamespaces {
  /** Pods that may still run and whose rules are ours, by namespace. */
  readonly #pods = new Map<string, Map<PodKey, Pod>>();
  /** Namespaces with such pods that are being deleted, or gone. */
  readonly #terminating = new Set<string>();
  /** The isolating remainder of each namespaced policy, for the case that it is deleted. */
  readonly #isolations = new Map<string, PolicyEvent>();
  /** Deletions that wait, by namespace. */
  readonly #waiting = new Map<string, Waiting>();
  /** Namespaces that have changed since their deletions were last examined. */
  readonly #touched = new Set<string>();
  readonly #node: string | undefined;
  /** Pods that rules isolated that were found in force, by their marks. */
  #found: ReadonlyMap<PodKey, ReadonlySet<Direction>>;

  /**
   * With a node, only its pods matter: there are no rules for others. `isolated` are those that rules in force isolate, by
   * their marks.
   */
  constructor(node?: string, isolated: ReadonlyMap<PodKey, ReadonlySet<Direction>> = new Map()) {
    this.#node = node;
    this.#found = isolated;
  }

  /** A watch reports that a namespace terminates, from its deletionTimestamp on, or does not. The watch may be late. */
  setTerminating(namespace: string, isTerminating: boolean): void {
    if (!isTerminating) this.#terminating.delete(namespace);
    else if (this.#pods.has(namespace)) this.#terminating.add(namespace);
    this.#touched.add(namespace);
  }

  /**
   * All pods and all policies were listed: if the rules in force isolate a pod and no listed policy does, a policy was
   * deleted.
   */
  setListed(): void {
    const found = this.#found;
    this.#found = new Map();
    const policies = Map.groupBy(this.#isolations.values(), ({ key }) => namespaceOfPolicy(key));
    for (const [namespace, pods] of this.#pods) {
      const isolated = (pod: Pod) => [...(found.get(podMark(pod.key)) ?? [])];
      const isLeft = (pod: Pod, direction: Direction) =>
        !(policies.get(namespace) ?? []).some(({ value }) => isolates(value, pod, direction));
      const left = [...pods.values()].flatMap(pod => isolated(pod).filter(each => isLeft(pod, each)));
      if (left.length > 0) this.#leave(isolationFound(namespace, new Set(left)));
    }
  }

  /** The events that may be published now: these, and earlier ones that waited. */
  pass(events: readonly ClusterEvent[]): readonly ClusterEvent[] {
    const passed: ClusterEvent[] = [];
    for (const event of events) if (this.#mayPass(event)) passed.push(event);
    if (this.#waiting.size > 0) passed.push(...this.#settle());
    return passed;
  }

  /** Namespaces with deletions for which an answer is wanted that were not named since something of them changed. */
  drainQuestions(): readonly string[] {
    const open: string[] = [];
    if (this.#waiting.size > 0)
      for (const namespace of this.#touched) if (this.isOpen(namespace)) open.push(namespace);
    this.#touched.clear();
    return open;
  }

  /** Whether deletions wait for the answer whether their namespace is alive. */
  isOpen(namespace: string): boolean {
    return this.#waiting.has(namespace) && !this.#terminating.has(namespace);
  }

  /** The deletions that a question about the namespace, asked now, covers. */
  deletionsOf(namespace: string): ReadonlySet<PolicyEvent> {
    return new Set(this.#waiting.get(namespace)?.deletions.values());
  }

  /**
   * The events that may be published when such a question is answered. An answer that the namespace is terminating is
   * not kept, because it may be outdated later.
   */
  answered(namespace: string, asked: ReadonlySet<PolicyEvent>, isLiving: boolean): readonly ClusterEvent[] {
    if (!isLiving) return this.isolate(namespace);
    const { deletions } = this.#waiting.get(namespace) ?? NOTHING;
    return this.#release(
      namespace,
      [...deletions.values()].filter(deletion => asked.has(deletion)),
    );
  }

  /** Removes what the deleted policies allowed; what they denied stays denied. */
  isolate(namespace: string): readonly ClusterEvent[] {
    const { deletions, fresh } = this.#waiting.get(namespace) ?? NOTHING;
    return fresh.splice(0).flatMap(deletion => {
      const isolation = this.#isolations.get(deletion.key);
      if (deletions.get(deletion.key) !== deletion || isolation === undefined) return [];
      this.#isolations.delete(deletion.key);
      return [isolation];
    });
  }

  /** Whether the event may pass; a deletion never does, it waits and is perhaps released at once. */
  #mayPass(event: ClusterEvent): boolean {
    if (event.type === 'pod') this.#trackPod(event);
    if (event.type === 'namespace' && event.value === undefined) this.setTerminating(event.key, true);
    const namespace = event.type === 'policy' ? namespaceOf(event.key) : undefined;
    if (event.type !== 'policy' || namespace === undefined) return true;
    if (event.value === undefined) this.#wait(namespace, event);
    else {
      this.#forget(namespace, [event]);
      this.#isolations.set(event.key, { ...event, value: withoutRules(event.value, 'deleted') });
    }
    return event.value !== undefined;
  }

  #trackPod({ key, value }: ClusterEvent & { type: 'pod' }): void {
    const namespace = namespaceOfPod(key);
    const pods = this.#pods.get(namespace) ?? new Map<PodKey, Pod>();
    const isOurs = this.#node === undefined || value?.node === this.#node;
    if (value !== undefined && !value.finished && isOurs) pods.set(key, value);
    else pods.delete(key);
    if (pods.size > 0) this.#pods.set(namespace, pods);
    else {
      this.#pods.delete(namespace);
      this.#terminating.delete(namespace);
    }
    this.#touched.add(namespace);
  }

  #wait(namespace: string, deletion: PolicyEvent): void {
    const waiting = getOrMake(this.#waiting, namespace, (): Waiting => ({ deletions: new Map(), fresh: [] }));
    waiting.deletions.set(deletion.key, deletion);
    waiting.fresh.push(deletion);
    this.#touched.add(namespace);
  }

  /** Handles a policy that was deleted before the start as if its deletion had just arrived; it was never published. */
  #leave(policy: Policy): void {
    const { id: key } = policy;
    this.#isolations.set(key, { type: 'policy', key, value: policy });
    this.#wait(namespaceOfPolicy(key), { type: 'policy', key });
  }

  #settle(): readonly ClusterEvent[] {
    const namespaces = [...this.#touched].filter(namespace => this.#waiting.has(namespace));
    return namespaces.flatMap(namespace => {
      if (!this.#pods.has(namespace))
        return this.#release(namespace, [...this.#waiting.get(namespace)!.deletions.values()]);
      return this.#terminating.has(namespace) ? this.isolate(namespace) : [];
    });
  }

  #release(namespace: string, released: readonly PolicyEvent[]): readonly ClusterEvent[] {
    // Isolation that was found in the rules and not published yet needs no event to end it.
    const published = released.filter(({ key }) => !isFound(key) || !this.#isolations.has(key));
    this.#forget(namespace, released);
    for (const { key } of released) this.#isolations.delete(key);
    return published;
  }

  #forget(namespace: string, events: readonly PolicyEvent[]): void {
    const { deletions } = this.#waiting.get(namespace) ?? NOTHING;
    for (const { key } of events) deletions.delete(key);
    if (deletions.size === 0) this.#waiting.delete(namespace);
  }
}

type PolicyEvent = Extract<ClusterEvent, { type: 'policy' }>;

interface Waiting {
  readonly deletions: Map<string, PolicyEvent>;
  /** The deletions that no event was published for yet. */
  readonly fresh: PolicyEvent[];
}

const NOTHING: Waiting = { deletions: new Map(), fresh: [] };

/** Also true if it is unknown whether the policy selects the pod. */
function isolates(policy: Policy | undefined, pod: Pod, direction: Direction): boolean {
  if (policy === undefined || policy.audited || policy[direction] === undefined) return false;
  return matchLabels(policy.subject.pods, pod) !== 'no';
}

/** The name of such a policy is one that no object of the API can have. */
function isolationFound(namespace: string, directions: ReadonlySet<Direction>): Policy {
  const name = `${namespace}/${FOUND}`;
  return {
    id: `${NAMESPACED}${name}`,
    kind: 'NetworkPolicy',
    name,
    tier: 'networkpolicy',
    order: 0,
    subject: { namespaces: { kind: 'name', name: namespace }, pods: EVERYTHING },
    closed: 'deleted',
    ...(directions.has('ingress') && { ingress: [] }),
    ...(directions.has('egress') && { egress: [] }),
  };
}

const FOUND = '(deleted with its namespace)';

function isFound(key: string): boolean {
  return key.endsWith(`/${FOUND}`);
}

const NAMESPACED = 'NetworkPolicy ';

function namespaceOf(key: PolicyEvent['key']): string | undefined {
  return key.startsWith(NAMESPACED) ? namespaceOfPolicy(key) : undefined;
}
