/** Who reaches whom in a cluster, over both families: exact, and computed from the policies alone. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import type { Address, Family } from '../../model/address.ts';
import { isPodsInstead } from '../../model/addressowners.ts';
import { type Cluster, isNodeItself, type Node, type PodKey } from '../../model/cluster.ts';
import { patternsOfPolicy } from '../../model/domainpeers.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { Direction, Policy, PolicyId } from '../../model/policy.ts';
import { Bits } from './bits.ts';
import { Cases, type DecidedConnections, type JudgedPeers, judgePeers, onceEach } from './cases.ts';
import { type ClusterIndex, clusterIndexOf, type ImaginedPod } from './clusterindex.ts';
import { ConnectionPool, type Connections } from './connections.ts';
import { type End, type FamilyEnds, familyEndsOf } from './familyends.ts';
import { type Judgement, judgementOf, limiting, type UnknownAddresses } from './judgement.ts';
import { hasRuleByName } from './nameclasses.ts';

export interface Reach {
  readonly pool: ConnectionPool;
  readonly clusterIndex: ClusterIndex;
  readonly families: Readonly<Record<Family, FamilyReach>>;
}

export interface ReachOptions {
  readonly unknownPods: UnknownPods;
  readonly imagined?: readonly ImaginedPod[];
  /** Two clusters that are compared share one, and each knows of both. */
  readonly pool?: ConnectionPool;
  readonly alongside?: readonly Cluster[];
  /** What they have in common with the cluster is taken over: of the same pods, nodes and words, the same policies. */
  readonly before?: readonly Reach[];
}

export function reachOf(cluster: Cluster, options: ReachOptions): Reach {
  const { unknownPods, imagined = [], pool = new ConnectionPool(), alongside, before = [] } = options;
  const ofPool = before.filter(each => each.pool === pool);
  const known = ofPool.map(each => each.clusterIndex);
  const clusterIndex = clusterIndexOf(cluster, unknownPods, imagined, alongside, known);
  const family = (name: Family) =>
    new FamilyReach(name, pool, clusterIndex, { before: ofPool.map(({ families }) => families[name]) });
  return { pool, clusterIndex, families: { ip: family('ip'), ip6: family('ip6') } };
}

/** The same reach with other addresses of pods that have none yet; `before` are some with the same of these addresses. */
export function reachWith(reach: Reach, unknown: UnknownAddresses, before: readonly Reach[] = []): Reach {
  const ofPool = before.filter(each => each.pool === reach.pool);
  const family = (name: Family) =>
    reach.families[name].withAddresses(
      unknown,
      ofPool.map(({ families }) => families[name]),
    );
  return { ...reach, families: { ip: family('ip'), ip6: family('ip6') } };
}

// The reach over one family: for each pair of source and destination the exact set of allowed connections.

const SURELY: UnknownAddresses = { egress: 'all', ingress: 'all' };

interface Known {
  readonly unknown?: UnknownAddresses;
  readonly same?: FamilyReach;
  /** Others of this family and pool, with the same addresses of pods that have none. */
  readonly before?: readonly FamilyReach[];
}

class FamilyReach {
  readonly family: Family;
  readonly ends: FamilyEnds;
  readonly #pool: ConnectionPool;
  readonly #clusterIndex: ClusterIndex;
  readonly #cases: Cases;
  readonly #everybody: Bits;
  readonly #resolving: readonly ReadonlySet<number>[];
  readonly #unknown: UnknownAddresses;
  /** By what decides; the same wherever pods without an address are. */
  readonly #groups: Map<string, readonly JudgedPeers[]>;
  readonly #judgements = new Map<string, Judgement>();
  /** Egress to names: by the index of the source end and the class of the name. */
  readonly #byName = new Map<number, Judgement>();
  /** 1 for each end about which policies alone decide. */
  readonly #plain: Uint8Array;
  /** Results by direction, and by the index of the end whose policies are evaluated; each when it is first asked for. */
  readonly #byEnd: Record<Direction, (Judgement | undefined)[]>;
  /** The same by the list of policies that decide, for all reaches of these ends. */
  readonly #byPolicies: Record<Direction, WeakMap<readonly Policy[], Judgement>>;

  /** `same` is a reach of the same cluster in which the addresses of pods that have none are others. */
  constructor(
    family: Family,
    pool: ConnectionPool,
    clusterIndex: ClusterIndex,
    { unknown = SURELY, same, before = [] }: Known = {},
  ) {
    this.family = family;
    this.#pool = pool;
    this.#clusterIndex = clusterIndex;
    this.#unknown = unknown;
    const alike = same ?? before.find(each => each.#clusterIndex.templates === clusterIndex.templates);
    this.ends =
      alike?.ends ??
      familyEndsOf(
        family,
        clusterIndex,
        before.map(({ ends }) => ends),
      );
    this.#everybody = Bits.full(this.ends.all.length);
    this.#cases = alike ? alike.#cases : new Cases(pool, clusterIndex, this.ends);
    this.#groups = same ? same.#groups : new Map();
    this.#resolving = same ? same.#resolving : this.#endsResolving();
    const none = () => this.ends.all.map(() => undefined);
    this.#byEnd = { egress: none(), ingress: none() };
    const judged = before.find(each => each.ends === this.ends);
    this.#byPolicies = judged ? judged.#byPolicies : { egress: new WeakMap(), ingress: new WeakMap() };
    const isPlain = (end: End) => !end.isTunnelEnd && !end.isOutside && !end.isUnknownPod;
    this.#plain = Uint8Array.from(this.ends.all, end => Number(isPlain(end)));
  }

  withAddresses(unknown: UnknownAddresses, before: readonly FamilyReach[]): FamilyReach {
    return new FamilyReach(this.family, this.#pool, this.#clusterIndex, { unknown, same: this, before });
  }

  /** What the policies on the pods of an end say; undefined where it has none. */
  #judgedAt(direction: Direction, end: number): Judgement | undefined {
    const known = this.#byEnd[direction];
    const { template } = this.ends.all[end]!;
    if (template === undefined || known[end] !== undefined) return known[end];
    const policies = this.#clusterIndex.policiesOf[template]!;
    known[end] = getOrMake(this.#byPolicies[direction], policies, () => this.#judge(direction, template));
    return known[end];
  }

  /** Marks the peers with which the policies on an end allow other connections than in another reach of the same ends. */
  markDiffering(direction: Direction, end: number, other: FamilyReach, marks: Uint8Array): void {
    const [is, was] = [this, other].map(reach => reach.#judgedAt(direction, end)?.allowed);
    if (is === undefined || was === undefined || is === was) return;
    for (let i = 0; i < marks.length; i++) if (is[i] !== was[i]) marks[i] = 1;
  }

  /** The policies on the pods of an end; the same list in another reach where all that they say is the same. */
  policiesOn(end: number): readonly Policy[] | undefined {
    const template = this.ends.all[this.ends.bare(end)]?.template;
    return template === undefined ? undefined : this.#clusterIndex.policiesOf[template];
  }

  /**
   * The connections between two different ends; between a pod and its own node only as far as policy decides. `to` may
   * be an end with a name: for a source without a rule by such a name it is the same end without the name.
   */
  connections(from: number, to: number): Connections {
    const out = this.allowed('egress', from, to);
    return out === this.#pool.none ? out : this.#pool.and(out, this.allowed('ingress', to, from));
  }

  /**
   * The connections that one direction allows: `own` is the end whose policies are evaluated, for egress the source.
   */
  allowed(direction: Direction, own: number, peer: number): Connections {
    const pool = this.#pool;
    const judgement = this.#judgement(direction, own, peer);
    if (judgement === undefined) {
      const { isUnknownPod, isOutside } = this.ends.all[this.ends.bare(own)]!;
      if (isUnknownPod) return pool.none;
      const leaves = direction === 'egress' && !isOutside && this.ends.all[this.ends.bare(peer)]!.isOutside;
      return leaves ? this.#withoutOwnTunnels(pool.all) : pool.all;
    }
    return this.#allowedBy(judgement, direction, this.ends.bare(peer));
  }

  /** The same as `connections`, for many other ends at once: for egress to them, for ingress from them; ids of sets. */
  connectionsOf(direction: Direction, own: number, others: readonly number[]): Uint32Array {
    return this.connectionsWith(direction, others)(own);
  }

  /** The same for many ends, one after another: each call writes over what the one before gave. */
  connectionsWith(direction: Direction, others: readonly number[]): (own: number) => Uint32Array {
    const pool = this.#pool;
    const plain = this.#plain;
    const back = direction === 'egress' ? 'ingress' : 'egress';
    const ends = Int32Array.from(others);
    const all = [...ends.keys()];
    const odd = all.filter(i => plain[others[i]!] !== 1);
    /** The plain ones that do not allow everything themselves. */
    const far = all.flatMap(i => {
      const there = plain[others[i]!] === 1 ? limiting(this.#judgedAt(back, others[i]!)) : undefined;
      return there === undefined ? [] : [[i, there] as const];
    });
    const between = (own: number, other: number) =>
      direction === 'egress' ? this.connections(own, other) : this.connections(other, own);
    const ids = new Uint32Array(ends.length);
    return own => {
      const isPlain = plain[own] === 1;
      if (isPlain) {
        const near = limiting(this.#judgedAt(direction, own));
        if (near === undefined) ids.fill(pool.all.id);
        else for (let i = 0; i < ids.length; i++) ids[i] = near[ends[i]!]!;
        for (const [i, there] of far) ids[i] = pool.andIds(ids[i]!, there[own]!);
      }
      for (const i of isPlain ? odd : all) ids[i] = between(own, ends[i]!).id;
      return ids;
    };
  }

  /** All by which policies can tell an end from others, as a text, and those that select it. */
  described(end: number): { readonly text: string; readonly policies: readonly PolicyId[] } {
    const { template, oneOf, ...rest } = this.ends.all[this.ends.bare(end)]!;
    if (template === undefined) return { text: JSON.stringify(rest), policies: [] };
    const { namespaceText, labels, partial, portsText } = this.#clusterIndex.templates.all[template]!;
    const policies = this.#clusterIndex.policiesOf[template]!.map(({ id }) => id);
    const parts = [rest, oneOf?.length, namespaceText, labels, partial, portsText, policies];
    return { text: JSON.stringify(parts), policies };
  }

  /** The policies that decide, and their decisions. */
  group(direction: Direction, own: number, peer: number): JudgedPeers | undefined {
    const bare = this.ends.bare(peer);
    const end = this.ends.bare(own);
    const { template } = this.ends.all[end]!;
    if (template === undefined) return undefined;
    const resolved = this.#resolvedBy(direction, end, peer);
    return this.#groupsOf(direction, template, resolved).find(({ peers }) => peers.has(bare));
  }

  /**
   * All connections with what decides about them; undefined where no policy does. If the peer's address is not known,
   * each is decided as at the first of its possible addresses that counts.
   */
  decisions(direction: Direction, own: number, peer: number): readonly DecidedConnections[] | undefined {
    const { oneOf } = this.ends.all[this.ends.bare(peer)]!;
    const of = this.#unknown[direction];
    const at = typeof of === 'number' ? oneOf?.[Math.min(of, oneOf.length - 1)] : undefined;
    if (oneOf === undefined || at !== undefined) return this.group(direction, own, at ?? peer)?.parts;
    if (this.ends.all[this.ends.bare(own)]!.template === undefined) return undefined;
    const all = oneOf.flatMap(each => this.group(direction, own, each)!.parts);
    const counting = of === 'all' ? 'deny' : 'allow';
    const first = all.filter(({ decision }) => decision.verdict === counting);
    return onceEach(this.#pool, [...first, ...all]);
  }

  /** Whether the pods of the end have a rule by a name of the class: others have no addresses by it. */
  mayResolve(end: number, nameClass: number): boolean {
    return this.#resolving[nameClass]!.has(end);
  }

  /** The ends of which that is so. */
  endsResolving(nameClass: number): readonly number[] {
    return [...this.#resolving[nameClass]!];
  }

  /** The connections between two addresses, including those that policy does not decide. */
  between(from: Address, to: Address, viaService = false): Connections {
    const pool = this.#pool;
    const out = this.#side('egress', from, to, viaService);
    const found = pool.and(out, this.#side('ingress', to, from, viaService));
    if (from === to && !viaService) return found; // N40
    return this.#tunnels(from, to).reduce((left, tunnels) => pool.minus(left, tunnels), found);
  }

  /** N72: connections from one address to another that the sender's node and the receiver's node deny as tunnels. */
  #tunnels(from: Address, to: Address): Connections[] {
    const pool = this.#pool;
    const { owners, cluster, nodeOfUnknownPod, nodeWith, tunnels } = this.#clusterIndex;
    const pod = owners.get(from);
    const sender = pod === undefined ? nodeOfUnknownPod(from) : cluster.nodes.get(pod.node);
    const denied: Connections[] = [];
    const links = tunnels.linksOf(sender);
    if ((pod !== undefined || sender !== undefined) && links.podTunnels !== 'allow') {
      const ofSender = pool.tunnelsOf(links.tunnels);
      if (this.#isOfNode(sender, to) || tunnels.endAt(to) !== undefined) denied.push(pool.tunnels, ofSender);
      else if (sender !== undefined && !tunnels.isInPodNetworks(to)) denied.push(ofSender);
    }
    const receiver = nodeWith(to);
    const isOfPod = tunnels.isInPodNetworks(from) && !tunnels.isListed(from);
    const { tunnels: ofReceiver, podTunnels } = tunnels.linksOf(receiver);
    if (receiver !== undefined && !this.#isOfNode(receiver, from) && isOfPod && podTunnels !== 'allow')
      denied.push(pool.tunnels, pool.tunnelsOf(ofReceiver));
    return denied;
  }

  /** N43. */
  #isFromNode(node: Node | undefined, address: Address): boolean {
    const { cluster, owners } = this.#clusterIndex;
    return this.#isOfNode(node, address) && !isPodsInstead(node, address, owners.get(address), cluster.nodes);
  }

  /** N75. */
  #isOfNode(node: Node | undefined, address: Address): boolean {
    const { tunnelNodeAt } = this.#clusterIndex;
    return isNodeItself(node, address) || (node !== undefined && tunnelNodeAt(address) === node);
  }

  #side(direction: Direction, own: Address, peer: Address, viaService: boolean): Connections {
    const pool = this.#pool;
    const { owners, cluster, nodeDenyingUnknownPod } = this.#clusterIndex;
    const subject = owners.get(own);
    if (subject === undefined) {
      const near = nodeDenyingUnknownPod(own);
      const exempt =
        (own === peer && !viaService) || (direction === 'ingress' && this.#isFromNode(near, peer));
      return near !== undefined && !exempt ? pool.none : pool.all;
    }
    if (subject === owners.get(peer) && !viaService) return pool.all;
    if (direction === 'ingress' && this.#isFromNode(cluster.nodes.get(subject.node), peer)) return pool.all;
    const end = this.ends.at(own);
    const resolved = direction === 'egress' ? this.#patternsResolved(end, subject.key, peer) : NOTHING;
    const judgement = this.#judge(direction, this.ends.all[end]!.template!, resolved);
    return this.#allowedBy(judgement, direction, this.ends.at(peer));
  }

  #allowedBy({ allowed }: Judgement, direction: Direction, peer: number): Connections {
    const pool = this.#pool;
    const found = pool.byId(allowed[peer]!);
    if (direction === 'ingress') return found;
    const { isTunnelEnd, isOutside } = this.ends.all[peer]!;
    const left = isTunnelEnd ? pool.minus(found, pool.tunnels) : found;
    return isTunnelEnd || isOutside ? this.#withoutOwnTunnels(left) : left;
  }

  #withoutOwnTunnels(found: Connections): Connections {
    const { tunnels, podTunnels } = this.#clusterIndex.tunnelLinks;
    return podTunnels === 'allow' ? found : this.#pool.minus(found, this.#pool.tunnelsOf(tunnels));
  }

  /** The patterns in the policies of a pod by which DNS gave it this address. */
  #patternsResolved(end: number, pod: PodKey, peer: Address): ReadonlySet<string> {
    const { resolved } = this.#clusterIndex.cluster;
    if (resolved === undefined) return NOTHING;
    const patterns = this.#clusterIndex.policiesOf[this.ends.all[end]!.template!]!.flatMap(patternsOfPolicy);
    return new Set(patterns.filter(pattern => resolved.has(pod, peer, pattern)));
  }

  #judgement(direction: Direction, own: number, peer: number): Judgement | undefined {
    const end = this.ends.bare(own);
    const resolved = this.#resolvedBy(direction, end, peer);
    if (resolved === NOTHING) return this.#judgedAt(direction, end);
    const named = this.ends.named(end, this.ends.nameClassOf(peer)!);
    return getOrMake(this.#byName, named, () =>
      this.#judge(direction, this.ends.all[end]!.template!, resolved),
    );
  }

  /** The patterns that mean the name by which the pods of an end have the address of a peer. */
  #resolvedBy(direction: Direction, end: number, peer: number): ReadonlySet<string> {
    const nameClass = direction === 'egress' ? this.ends.nameClassOf(peer) : undefined;
    const isKnown = nameClass !== undefined && this.mayResolve(end, nameClass);
    return isKnown ? this.#clusterIndex.names[nameClass]!.meaning : NOTHING;
  }

  /** For each class of names, the ends of pods with a rule by such a name. */
  #endsResolving(): ReadonlySet<number>[] {
    return this.#clusterIndex.names.map(({ meaning }) => {
      const templates = this.#clusterIndex.policiesOf.map(policies =>
        policies.some(policy => hasRuleByName(policy, meaning)),
      );
      const hasName = ({ template }: End) => template !== undefined && templates[template]!;
      return new Set(this.ends.all.flatMap((end, i) => (hasName(end) ? [i] : [])));
    });
  }

  /** `resolved` are the patterns that match the name by which DNS gave it the address of its peer. */
  #judge(direction: Direction, template: number, resolved: ReadonlySet<string> = NOTHING): Judgement {
    return getOrMake(this.#judgements, this.#keyOf(direction, template, resolved), () => {
      const groups = this.#groupsOf(direction, template, resolved);
      return judgementOf(this.#pool, groups, this.ends, this.#unknown[direction]);
    });
  }

  #groupsOf(direction: Direction, template: number, resolved: ReadonlySet<string>): readonly JudgedPeers[] {
    return getOrMake(this.#groups, this.#keyOf(direction, template, resolved), () => {
      const { portsText } = this.#clusterIndex.templates.all[template]!;
      const policies = this.#clusterIndex.policiesOf[template]!;
      return judgePeers(
        this.#pool,
        this.#cases.of(policies, direction, portsText, resolved),
        this.#everybody,
      );
    });
  }

  /** Equal where the same decides. */
  #keyOf(direction: Direction, template: number, resolved: ReadonlySet<string>): string {
    const { portsText } = this.#clusterIndex.templates.all[template]!;
    const deciding = this.#clusterIndex.policiesOf[template]!.filter(
      policy => policy[direction] !== undefined,
    );
    const names = deciding.map(({ id, uncertain }) => `${id}${uncertain ? '?' : ''}`);
    return JSON.stringify([direction, direction === 'ingress' && portsText, names, ...resolved]);
  }
}

const NOTHING: ReadonlySet<string> = new Set();
