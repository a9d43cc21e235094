import type { ClusterEvent } from '../../model/cluster.ts';
import type { Policy } from '../../model/policy.ts';

/**
 * Keeps the isolation by policies of a namespace that is being deleted until its last pod is gone. The server deletes
 * its objects in any order, so policies may vanish half a minute before the pods that they isolate. What such a policy
 * allowed goes with it: only what was denied is held.
 *
 * While the namespaces cannot be read, nobody knows which are being deleted, and no namespaced policy ceases to isolate.
 */
export class PolicyHold {
  /** Pods that may still run and whose rules are ours, by namespace. */
  readonly #pods = new Map<string, Set<string>>();
  readonly #active = new Set<string>();
  /** What is left of each namespaced policy when it is deleted. */
  readonly #isolations = new Map<string, ClusterEvent>();
  /** Deletions that wait, by policy. */
  readonly #held = new Map<string, ClusterEvent>();
  readonly #isOurs: (node: string) => boolean;
  #knowsNamespaces = false;

  /** With a node, only its pods matter: there are no rules for others. */
  constructor(node?: string) {
    this.#isOurs = node === undefined ? () => true : name => name === node;
  }

  /** A namespace that has no deletionTimestamp is active. */
  setActive(namespace: string, isActive: boolean): void {
    if (isActive) this.#active.add(namespace);
    else this.#active.delete(namespace);
  }

  setKnowsNamespaces(knows: boolean): void {
    this.#knowsNamespaces = knows;
  }

  /** What may be published of these events now, and of those that waited. */
  pass(events: readonly ClusterEvent[]): readonly ClusterEvent[] {
    const passed = events.filter(event => this.#note(event));
    const deleted = [...this.#held.keys()];
    const released = this.#release();
    const isolating = deleted.flatMap(key => (this.#held.has(key) ? this.#isolate(key) : []));
    return [...passed, ...isolating, ...released];
  }

  /** Whether the event may pass; a deletion never does, it is held and perhaps released at once. */
  #note(event: ClusterEvent): boolean {
    if (event.type === 'pod') this.#notePod(event);
    if (event.type === 'namespace' && event.value === undefined) this.#active.delete(event.key);
    if (event.type !== 'policy' || namespaceOf(event) === undefined) return true;
    this.#held.delete(event.key);
    if (event.value === undefined) this.#held.set(event.key, event);
    else this.#isolations.set(event.key, isolationOf(event, event.value));
    return event.value !== undefined;
  }

  /** Said once of each deletion that waits. */
  #isolate(key: string): readonly ClusterEvent[] {
    const isolation = this.#isolations.get(key);
    this.#isolations.delete(key);
    return isolation === undefined ? [] : [isolation];
  }

  #notePod({ key, value }: ClusterEvent & { type: 'pod' }): void {
    const namespace = key.split('/')[0]!;
    const pods = this.#pods.get(namespace) ?? new Set();
    if (value !== undefined && !value.finished && this.#isOurs(value.node)) pods.add(key);
    else pods.delete(key);
    if (pods.size > 0) this.#pods.set(namespace, pods);
    else this.#pods.delete(namespace);
  }

  #release(): readonly ClusterEvent[] {
    const released = [...this.#held.values()].filter(event => !this.#mustWait(namespaceOf(event)!));
    for (const { key } of released) {
      this.#held.delete(key);
      this.#isolations.delete(key);
    }
    return released;
  }

  #mustWait(namespace: string): boolean {
    return !this.#knowsNamespaces || (!this.#active.has(namespace) && this.#pods.has(namespace));
  }
}

/** The policy without a rule. */
function isolationOf(event: ClusterEvent & { type: 'policy' }, policy: Policy): ClusterEvent {
  const { ingress, egress } = policy;
  const value = { ...policy, ...(ingress && { ingress: [] }), ...(egress && { egress: [] }) };
  return { ...event, value };
}

const NAMESPACED = 'NetworkPolicy ';

function namespaceOf({ type, key }: ClusterEvent): string | undefined {
  if (type !== 'policy' || !key.startsWith(NAMESPACED)) return undefined;
  return key.slice(NAMESPACED.length).split('/')[0];
}
