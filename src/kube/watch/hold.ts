import { type ClusterEvent, namespaceOfPod, type PodKey } from '../../model/cluster.ts';
import { getOrMake } from '../../model/getormake.ts';
import { podMark } from '../../model/podmark.ts';
import { type Direction, namespaceOfPolicy, type Policy, withoutRules } from '../../model/policy.ts';
import { EVERYTHING } from '../../model/selector.ts';

/**
 * Keeps the isolation by policies of a namespace that is being deleted until its last pod is gone. The server deletes
 * its objects in any order, so policies may vanish half a minute before the pods that they isolate. What such a policy
 * allowed goes with it: only what was denied is held.
 *
 * While the namespaces cannot be read, nobody knows which are being deleted, and no namespaced policy ceases to isolate.
 *
 * An agent that starts meanwhile cannot read what is deleted already: the rules that it finds in force tell whom it
 * isolated. As long as one of those pods is there, all of that namespace are isolated.
 */
export class PolicyHold {
  /** Pods that may still run and whose rules are ours, by namespace. */
  readonly #pods = new Map<string, Set<PodKey>>();
  readonly #active = new Set<string>();
  /** What is left of each namespaced policy when it is deleted. */
  readonly #isolations = new Map<string, ClusterEvent>();
  /** Deletions that wait, by namespace and policy. */
  readonly #held = new Map<string, Map<string, ClusterEvent>>();
  /** Namespaces of which something has changed since their deletions were last looked at. */
  readonly #touched = new Set<string>();
  readonly #isOurs: (node: string) => boolean;
  /** By namespace: pods that rules isolated that were found in force, by their marks. */
  readonly #found = new Map<string, Map<string, ReadonlySet<Direction>>>();
  /** In which directions those of a namespace that is being deleted are isolated. */
  readonly #isolatedFound = new Map<string, ReadonlySet<Direction>>();
  #knowsNamespaces = false;

  /**
   * With a node, only its pods matter: there are no rules for others. `isolated` are those that rules in force isolate, by
   * their marks.
   */
  constructor(node?: string, isolated: ReadonlyMap<PodKey, ReadonlySet<Direction>> = new Map()) {
    this.#isOurs = node === undefined ? () => true : name => name === node;
    for (const [pod, directions] of isolated) {
      const namespace = namespaceOfPod(pod);
      getOrMake(this.#found, namespace, () => new Map()).set(pod, directions);
    }
  }

  /** A namespace that has no deletionTimestamp is active. */
  setActive(namespace: string, isActive: boolean): void {
    if (isActive) {
      this.#active.add(namespace);
      this.#found.delete(namespace); // its policies are those that can be read
      this.#isolatedFound.delete(namespace);
    } else this.#active.delete(namespace);
    this.#touched.add(namespace);
  }

  setKnowsNamespaces(knows: boolean): void {
    this.#knowsNamespaces = knows;
    for (const namespace of [...this.#held.keys(), ...this.#found.keys()]) this.#touched.add(namespace);
  }

  /** What may be published of these events now, and of those that waited. */
  pass(events: readonly ClusterEvent[]): readonly ClusterEvent[] {
    const passed = events.filter(event => this.#note(event));
    const deleted = events.filter(event => event.type === 'policy' && event.value === undefined);
    const found = this.#isolateFound();
    const released = this.#release();
    const isolating = deleted.flatMap(event => (this.#isHeld(event) ? this.#isolate(event.key) : []));
    return [...passed, ...isolating, ...found, ...released];
  }

  /** Whether the event may pass; a deletion never does, it is held and perhaps released at once. */
  #note(event: ClusterEvent): boolean {
    if (event.type === 'pod') this.#notePod(event);
    if (event.type === 'namespace' && event.value === undefined) this.setActive(event.key, false);
    const namespace = namespaceOf(event);
    if (event.type !== 'policy' || namespace === undefined) return true;
    if (event.value === undefined) this.#hold(namespace, event);
    else {
      this.#held.get(namespace)?.delete(event.key);
      this.#isolations.set(event.key, { ...event, value: withoutRules(event.value) });
    }
    return event.value !== undefined;
  }

  #hold(namespace: string, event: ClusterEvent): void {
    getOrMake(this.#held, namespace, () => new Map()).set(event.key, event);
    this.#touched.add(namespace);
  }

  #isHeld(event: ClusterEvent): boolean {
    return this.#held.get(namespaceOf(event) ?? '')?.get(event.key) === event;
  }

  /** Said once of each deletion that waits. */
  #isolate(key: string): readonly ClusterEvent[] {
    const isolation = this.#isolations.get(key);
    this.#isolations.delete(key);
    return isolation === undefined ? [] : [isolation];
  }

  /** Of namespaces that are being deleted: said again where a pod is heard of later, and held like a deletion that waits. */
  #isolateFound(): readonly ClusterEvent[] {
    const waiting = [...this.#touched].filter(name => this.#knowsNamespaces && this.#mustWait(name));
    return waiting.flatMap(namespace => {
      const before = this.#isolatedFound.get(namespace) ?? new Set();
      const directions = new Set([...before, ...this.#directionsFound(namespace)]);
      if (directions.size === before.size) return [];
      this.#isolatedFound.set(namespace, directions);
      const policy = isolationFound(namespace, directions);
      this.#hold(namespace, { type: 'policy', key: policy.id });
      return [{ type: 'policy', key: policy.id, value: policy }];
    });
  }

  /** Of those that still run. */
  #directionsFound(namespace: string): readonly Direction[] {
    const found = this.#found.get(namespace);
    if (found === undefined) return [];
    return [...this.#pods.get(namespace)!].flatMap(pod => [...(found.get(podMark(pod)) ?? [])]);
  }

  #notePod({ key, value }: ClusterEvent & { type: 'pod' }): void {
    const namespace = namespaceOfPod(key);
    const pods = this.#pods.get(namespace) ?? new Set<PodKey>();
    if (value !== undefined && !value.finished && this.#isOurs(value.node)) pods.add(key);
    else pods.delete(key);
    if (pods.size > 0) this.#pods.set(namespace, pods);
    else this.#pods.delete(namespace);
    this.#touched.add(namespace);
  }

  #release(): readonly ClusterEvent[] {
    const namespaces = [...this.#touched].filter(name => this.#held.has(name) && !this.#mustWait(name));
    this.#touched.clear();
    return namespaces.flatMap(namespace => {
      const released = [...this.#held.get(namespace)!.values()];
      this.#held.delete(namespace);
      this.#isolatedFound.delete(namespace);
      for (const { key } of released) this.#isolations.delete(key);
      return released;
    });
  }

  #mustWait(namespace: string): boolean {
    return !this.#knowsNamespaces || (!this.#active.has(namespace) && this.#pods.has(namespace));
  }
}

/** No object of the API has such a name. */
function isolationFound(namespace: string, directions: ReadonlySet<Direction>): Policy {
  const name = `${namespace}/(deleted with its namespace)`;
  return {
    id: `${NAMESPACED}${name}`,
    kind: 'NetworkPolicy',
    name,
    tier: 'networkpolicy',
    order: 0,
    subject: { namespaces: { kind: 'name', name: namespace }, pods: EVERYTHING },
    ...(directions.has('ingress') && { ingress: [] }),
    ...(directions.has('egress') && { egress: [] }),
  };
}

const NAMESPACED = 'NetworkPolicy ';

function namespaceOf({ type, key }: ClusterEvent): string | undefined {
  if (type !== 'policy' || !key.startsWith(NAMESPACED)) return undefined;
  return namespaceOfPolicy(key);
}
