/**
 * The pods of this node, as the source tells them and as they were attached. A pod has the addresses that it was
 * attached with from the first moment, and not those of a sandbox before; a pod that the source has not told of yet
 * has the labels that the runtime gave.
 */
import type { Address } from '../model/address.ts';
import type { ClusterEvent, Pod, PodKey } from '../model/cluster.ts';
import type { Labels } from '../model/selector.ts';

export interface Identity {
  readonly key: PodKey;
  readonly addresses: readonly Address[];
  /** As the runtime tells them; absent where it tells none. */
  readonly labels?: Labels;
}

export class LocalPods {
  readonly #node: string;
  readonly #told = new Map<PodKey, Pod>();
  readonly #attached = new Map<PodKey, Identity>();
  /** What was taken from pods that the source still tells of: others may have it by now. */
  readonly #lost = new Map<PodKey, ReadonlySet<Address>>();

  constructor(node: string) {
    this.#node = node;
  }

  /** What the source's events mean once it is known what is attached. */
  merge(events: readonly ClusterEvent[]): ClusterEvent[] {
    return events.map(event => {
      if (event.type !== 'pod') return event;
      if (event.value?.node === this.#node) this.#told.set(event.key, event.value);
      else this.#forget(event.key);
      return event.value === undefined || event.value.node === this.#node ? this.#event(event.key) : event;
    });
  }

  attach(identity: Identity): ClusterEvent[] {
    this.#attached.set(identity.key, identity);
    this.#lost.delete(identity.key);
    return [this.#event(identity.key)];
  }

  /** `addresses` are those that it had: a sandbox that came after it keeps its own. */
  detach(key: PodKey, addresses: readonly Address[]): ClusterEvent[] {
    const attached = this.#attached.get(key);
    if (attached === undefined || attached.addresses.join() !== addresses.join()) return [];
    this.#attached.delete(key);
    if (this.#told.has(key)) this.#lost.set(key, new Set(addresses));
    return [this.#event(key)];
  }

  /** Whether anything is known of the pod that policies could select it by. */
  knows(key: PodKey): boolean {
    return this.#told.has(key) || this.#attached.get(key)?.labels !== undefined;
  }

  /** The pods that may have an interface of ours, as the source tells. */
  living(): Set<PodKey> {
    const alive = [...this.#told.values()].filter(pod => !pod.hostNetwork && !pod.finished);
    return new Set(alive.map(({ key }) => key));
  }

  #forget(key: PodKey): void {
    this.#told.delete(key);
    this.#lost.delete(key);
  }

  #event(key: PodKey): ClusterEvent {
    const value = merged(this.#node, this.#tellOf(key), this.#attached.get(key));
    return value === undefined ? { type: 'pod', key } : { type: 'pod', key, value };
  }

  #tellOf(key: PodKey): Pod | undefined {
    const pod = this.#told.get(key);
    const lost = this.#lost.get(key);
    if (pod === undefined || lost === undefined) return pod;
    return { ...pod, addresses: pod.addresses.filter(address => !lost.has(address)) };
  }
}

function merged(node: string, told: Pod | undefined, attached: Identity | undefined): Pod | undefined {
  if (attached === undefined || told?.hostNetwork || told?.finished) return told;
  if (told !== undefined) return { ...told, addresses: attached.addresses };
  if (attached.labels === undefined) return undefined;
  const slash = attached.key.indexOf('/');
  return {
    key: attached.key,
    namespace: attached.key.slice(0, slash),
    name: attached.key.slice(slash + 1),
    labels: attached.labels,
    node,
    addresses: attached.addresses,
    hostNetwork: false,
    finished: false,
    createdAt: '',
    ports: [],
  };
}
