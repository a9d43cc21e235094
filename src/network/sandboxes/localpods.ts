/**
 * The pods of this node, merged from three sources: the code that attaches pods, and the runtime, know first and
 * reliably which sandbox has which address; the API server knows everything else.
 *
 *     API server ──merge─▶ ┌───────────┐
 *                          │ local pods│ ──events──▶ engine
 *     start gate, attach   │           │
 *     ──started, stopped──▶└───────────┘
 *
 * A pod has the addresses of its living sandbox, whatever the API server reports, and no other pod of the cluster has
 * them; if two sandboxes have one address, it belongs to the younger. A pod whose sandbox has ended stays gone until
 * the API server reports another pod of that name. A sandbox that both of the first two sources report lives until both
 * have reported its end.
 */

import { MultiMap } from '../../lib/collections/multimap.ts';
import { type Address, familyOf } from '../../model/address.ts';
import { type ClusterEvent, isSelectable, type Pod, type PodKey } from '../../model/cluster.ts';
import type { Sandbox } from './sandbox.ts';

export class LocalPods {
  readonly #node: string;
  readonly #now: () => Date;
  /** Every pod as the API server has it. */
  readonly #reported = new Map<PodKey, Pod>();
  /** The same pods, by the addresses that the API server gives them. */
  readonly #claimants = new MultiMap<Address, Pod>();
  /**
   * The last version of pods that the API server has deleted and whose sandboxes still live: a repeated report is the
   * same pod.
   */
  readonly #deleted = new Map<PodKey, Pod>();
  /** Living sandboxes by their ids, the youngest last. */
  readonly #sandboxes = new Map<string, Sandbox>();
  /** The sandbox that holds an address: the youngest living one that names it. */
  readonly #holders = new Map<Address, PodKey>();
  /** The sandbox that a pod had last, where it has ended. */
  readonly #ended = new Map<PodKey, Sandbox>();
  /** For pods that only the container runtime knows yet: when it first reported them. */
  readonly #firstSeen = new Map<string, string>();
  /** The published state of pods of this node, as text. */
  readonly #published = new Map<PodKey, string>();

  constructor(node: string, now: () => Date = () => new Date()) {
    this.#node = node;
    this.#now = now;
  }

  /** Merges a source's reports about pods with their sandboxes; other events are passed on unchanged. */
  merge(events: readonly ClusterEvent[]): ClusterEvent[] {
    return events.flatMap(event => (event.type === 'pod' ? this.#merged(event) : [event]));
  }

  started(sandbox: Sandbox): ClusterEvent[] {
    this.#sandboxes.delete(sandbox.id);
    this.#sandboxes.set(sandbox.id, sandbox);
    this.#ended.delete(sandbox.key);
    return this.#changes([sandbox]);
  }

  stopped(id: string): ClusterEvent[] {
    const sandbox = this.#sandboxes.get(id);
    if (sandbox === undefined) return [];
    this.#end(sandbox);
    return this.#changes([sandbox]);
  }

  /** The addresses of a living sandbox; none where they are not known. */
  addressesOf(id: string): readonly Address[] {
    return this.#sandboxes.get(id)?.addresses ?? [];
  }

  /** The addresses that pods of this node have, according to any source. */
  addresses(): Address[] {
    const reported = [...this.#published.keys()].map(key => this.#reported.get(key));
    const alive = reported
      .filter(pod => pod !== undefined && !pod.finished)
      .map(pod => this.#withoutOthers(pod!));
    return [...this.#sandboxes.values(), ...alive].flatMap(({ addresses }) => addresses);
  }

  /** Whether policies can select the pod: the API server has reported the pod, or another source its labels. */
  knows(key: PodKey): boolean {
    return this.#pod(key) !== undefined;
  }

  /** The pods that may have an interface of ours, as the API server reports. */
  living(): Set<PodKey> {
    const alive = [...this.#reported.values()].filter(pod => pod.node === this.#node && isSelectable(pod));
    return new Set(alive.map(({ key }) => key));
  }

  /** The runtime's complete list of living sandboxes: all others that it has reported are gone. */
  synchronised(sandboxes: readonly Sandbox[]): ClusterEvent[] {
    const ids = new Set(sandboxes.map(({ id }) => id));
    const gone = ofRuntime(this.#sandboxes).filter(({ id }) => !ids.has(id));
    for (const sandbox of gone) this.#end(sandbox);
    for (const sandbox of sandboxes) {
      if (!this.#sandboxes.has(sandbox.id)) this.#sandboxes.set(sandbox.id, sandbox);
      this.#ended.delete(sandbox.key);
    }
    return this.#changes([...gone, ...sandboxes]);
  }

  /** The connection to the runtime is lost: its reports may be outdated, so the API server decides. */
  lost(): ClusterEvent[] {
    const [living, ended] = [this.#sandboxes, this.#ended].map(ofRuntime) as [Sandbox[], Sandbox[]];
    for (const { id } of living) this.#forget(id);
    for (const { key } of ended) this.#ended.delete(key);
    return this.#changes([...living, ...ended]);
  }

  #forget(id: string): void {
    const key = this.#sandboxes.get(id)?.key;
    this.#sandboxes.delete(id);
    this.#firstSeen.delete(id);
    if (key !== undefined && this.#sandboxOf(key) === undefined) this.#deleted.delete(key);
  }

  #end(sandbox: Sandbox): void {
    this.#forget(sandbox.id);
    const { key } = sandbox;
    if (this.#reported.has(key) && this.#sandboxOf(key) === undefined) this.#ended.set(key, sandbox);
  }

  #merged({ key, value }: ClusterEvent & { type: 'pod' }): ClusterEvent[] {
    this.#replace(key, value);
    if (value === undefined || !isOf(value, this.#ended.get(key))) this.#ended.delete(key);
    const concernsUs =
      this.#published.has(key) ||
      value?.node === this.#node ||
      this.#sandboxOf(key) !== undefined ||
      value?.addresses.some(address => this.#holders.has(address));
    return concernsUs ? this.#publish(key) : [{ type: 'pod', key, ...(value !== undefined && { value }) }];
  }

  #replace(key: PodKey, value: Pod | undefined): void {
    const before = this.#reported.get(key);
    for (const address of before?.addresses ?? []) this.#claimants.delete(address, before!);
    if (value === undefined) this.#reported.delete(key);
    else this.#reported.set(key, value);
    if (value !== undefined) this.#deleted.delete(key);
    else if (before !== undefined && this.#sandboxOf(key) !== undefined) this.#deleted.set(key, before);
    for (const address of value?.addresses ?? []) this.#claimants.add(address, value!);
  }

  /** Events of the pods of these sandboxes, and of all that have or had an address of theirs. */
  #changes(sandboxes: readonly Sandbox[]): ClusterEvent[] {
    this.#holders.clear();
    for (const { key, addresses } of this.#sandboxes.values())
      for (const address of addresses) this.#holders.set(address, key);
    const changed = new Set(sandboxes.flatMap(sandbox => sandbox.addresses));
    const claimants = [...changed].flatMap(address => [...this.#claimants.get(address)]);
    const holders = [...this.#sandboxes.values()].filter(({ addresses }) =>
      addresses.some(address => changed.has(address)),
    );
    const keys = new Set([...sandboxes, ...claimants, ...holders].map(({ key }) => key));
    return [...keys].flatMap(key => this.#publish(key));
  }

  #publish(key: PodKey): ClusterEvent[] {
    const value = this.#pod(key);
    const text = JSON.stringify(value);
    if (value !== undefined && this.#published.get(key) === text) return [];
    if (value === undefined && !this.#published.has(key)) return [];
    if (value?.node === this.#node) this.#published.set(key, text);
    else this.#published.delete(key);
    return [{ type: 'pod', key, ...(value !== undefined && { value }) }];
  }

  #pod(key: PodKey): Pod | undefined {
    const reported = this.#reported.get(key);
    const sandbox = this.#sandboxOf(key);
    // A pod of that name runs on another node now: the rest of ours belongs to no pod.
    if (reported !== undefined && reported.node !== '' && reported.node !== this.#node)
      return this.#withoutOthers(reported);
    if (sandbox === undefined || sandbox.addresses.length === 0)
      return reported && this.#withoutOthers(reported);
    const known = reported ?? this.#deleted.get(key);
    if (known === undefined || !isOf(known, sandbox)) return this.#fromSandbox(sandbox);
    if (known.hostNetwork) return known;
    return {
      ...known,
      node: this.#node,
      addresses: [...this.#held(sandbox), ...this.#others(known, sandbox)],
    };
  }

  /** The addresses of the sandbox that no younger one names. */
  #held({ key, addresses }: Sandbox): Address[] {
    return addresses.filter(address => this.#holders.get(address) === key);
  }

  /** Addresses of families that the runtime does not report are those that the API server has. */
  #others(reported: Pod, { addresses }: Sandbox): Address[] {
    const families = new Set(addresses.map(familyOf));
    return this.#withoutOthers(reported).addresses.filter(address => !families.has(familyOf(address)));
  }

  /**
   * The pod's youngest sandbox, because an older one is about to end. One with addresses takes precedence over one
   * without.
   */
  #sandboxOf(key: PodKey): Sandbox | undefined {
    const its = [...this.#sandboxes.values()].filter(sandbox => sandbox.key === key);
    return its.findLast(({ addresses }) => addresses.length > 0) ?? its.at(-1);
  }

  /** The pod without addresses that another pod's living sandbox has, or that ended with its own. */
  #withoutOthers(pod: Pod): Pod {
    if (pod.hostNetwork || pod.addresses.length === 0) return pod;
    const ended = this.#ended.get(pod.key)?.addresses ?? [];
    const left = pod.addresses.filter(
      address => (this.#holders.get(address) ?? pod.key) === pod.key && !ended.includes(address),
    );
    return left.length === pod.addresses.length ? pod : { ...pod, addresses: left };
  }

  /**
   * The pod as the runtime alone knows it: its container ports are not known, so no port matches by its name. Without
   * labels it is no pod to policy.
   */
  #fromSandbox(sandbox: Sandbox): Pod | undefined {
    const { id, key, uid, labels } = sandbox;
    if (labels === undefined) return undefined;
    const addresses = this.#held(sandbox);
    const [namespace = '', name = ''] = key.split('/');
    const createdAt = this.#firstSeen.get(id) ?? this.#now().toISOString();
    this.#firstSeen.set(id, createdAt);
    const rest = { hostNetwork: false, finished: false, createdAt, ports: [] };
    return { key, namespace, name, ...(uid !== '' && { uid }), labels, node: this.#node, addresses, ...rest };
  }
}

function ofRuntime(sandboxes: ReadonlyMap<string, Sandbox>): Sandbox[] {
  return [...sandboxes.values()].filter(({ attached }) => !attached);
}

/** Whether it is the pod of that sandbox, and not its successor by the same name. */
function isOf({ uid }: Pod, sandbox: Sandbox | undefined): boolean {
  return sandbox !== undefined && (uid === undefined || sandbox.uid === '' || uid === sandbox.uid);
}
