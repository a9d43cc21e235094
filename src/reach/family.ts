/** Who reaches whom over one family: for each pair of ends the exact set of connections that may pass. */
import type { Address, Family } from '../model/address.ts';
import { isNodeItself } from '../model/cluster.ts';
import type { Direction, Policy } from '../model/policy.ts';
import { Cases, policiesByTemplate } from './cases.ts';
import type { ConnectionPool, Connections } from './connections.ts';
import type { End } from './end.ts';
import { type FamilyEnds, familyEndsOf } from './familyends.ts';
import { allowedOf, type Group, judge } from './judge.ts';
import type { Landscape } from './landscape.ts';
import { PeerSets } from './peersets.ts';
import { remembered } from './selected.ts';

/** What the policies on one subject say, by the index of the peer. */
interface Judgement {
  readonly groups: readonly Group[];
  /** Ids of the connections that are allowed. */
  readonly allowed: Uint32Array;
}

export class FamilyReach {
  readonly family: Family;
  readonly ends: FamilyEnds;
  readonly #pool: ConnectionPool;
  readonly #landscape: Landscape;
  readonly #cases: Cases;
  readonly #everybody;
  readonly #policies: readonly Policy[][];
  readonly #judgements = new Map<string, Judgement>();
  /** By direction, and the index of the end whose policies are asked. */
  readonly #byEnd: Record<Direction, (Judgement | undefined)[]>;

  constructor(family: Family, pool: ConnectionPool, landscape: Landscape) {
    this.family = family;
    this.#pool = pool;
    this.#landscape = landscape;
    this.ends = familyEndsOf(family, landscape);
    const peers = new PeerSets(landscape, this.ends);
    this.#everybody = peers.everybody.yes;
    this.#cases = new Cases(pool, landscape, this.ends, peers);
    this.#policies = policiesByTemplate(landscape);
    const judged = (direction: Direction) => this.ends.all.map(end => this.#judge(direction, end));
    this.#byEnd = { egress: judged('egress'), ingress: judged('ingress') };
  }

  /** Between two different pods, or whatever else the ends are; of a pod and its own node, what policy alone says. */
  connections(from: number, to: number): Connections {
    const out = this.allowed('egress', from, to);
    return out === this.#pool.none ? out : this.#pool.and(out, this.allowed('ingress', to, from));
  }

  /** What one direction lets pass: `own` is the end that is asked, the source of egress. */
  allowed(direction: Direction, own: number, peer: number): Connections {
    const pool = this.#pool;
    const judgement = this.#byEnd[direction][own];
    if (judgement === undefined) return this.ends.all[own]!.isUnknownPod ? pool.none : pool.all;
    const { isNode } = this.ends.all[peer]!;
    const allowed = pool.byId(judgement.allowed[peer]!);
    return direction === 'egress' && isNode ? pool.minus(allowed, pool.tunnels) : allowed;
  }

  /** Who decides what, where a policy has a say. */
  group(direction: Direction, own: number, peer: number): Group | undefined {
    return this.#byEnd[direction][own]?.groups.find(({ peers }) => peers.has(peer));
  }

  /** Between two addresses, with all that policy has no say in. */
  between(from: Address, to: Address, viaService = false): Connections {
    const out = this.#side('egress', from, to, viaService);
    return this.#pool.and(out, this.#side('ingress', to, from, viaService));
  }

  #side(direction: Direction, own: Address, peer: Address, viaService: boolean): Connections {
    const pool = this.#pool;
    const { owners, nodes, cluster, unknownPodOf } = this.#landscape;
    const subject = owners.get(own);
    if (subject === undefined) {
      const near = unknownPodOf(own);
      const exempt = (own === peer && !viaService) || (direction === 'ingress' && isNodeItself(near, peer));
      return near === undefined || exempt ? pool.all : pool.none;
    }
    const beforeTunnels = (found: Connections) =>
      direction === 'egress' && nodes.has(peer) ? pool.minus(found, pool.tunnels) : found;
    if (subject === owners.get(peer) && !viaService) return beforeTunnels(pool.all);
    if (direction === 'ingress' && isNodeItself(cluster.nodes.get(subject.node), peer)) return pool.all;
    return this.allowed(direction, this.ends.at(own), this.ends.at(peer));
  }

  #judge(direction: Direction, { template }: End): Judgement | undefined {
    if (template === undefined) return undefined;
    const { portsText } = this.#landscape.templates.all[template]!;
    const policies = this.#policies[template]!.filter(policy => policy[direction] !== undefined);
    const names = policies.map(({ id, unsure }) => `${id}${unsure ? '?' : ''}`);
    const key = JSON.stringify([direction, direction === 'ingress' && portsText, names]);
    return remembered(this.#judgements, key, () => {
      const groups = judge(this.#pool, this.#cases.of(policies, direction, portsText), this.#everybody);
      return { groups, allowed: rowOf(this.#pool, groups, this.ends.all.length) };
    });
  }
}

function rowOf(pool: ConnectionPool, groups: readonly Group[], size: number): Uint32Array {
  const row = new Uint32Array(size);
  for (const group of groups) {
    const { id } = allowedOf(pool, group);
    for (const peer of group.peers) row[peer] = id;
  }
  return row;
}
