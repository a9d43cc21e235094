/**
 * The internal form of every policy kind. One decoder per API kind makes it; evaluation and compilation read nothing
 * else. "No constraint" is the word 'any', and an empty list matches nothing: the two are never the same value.
 */
import type { Cidr } from './address.ts';
import type { LabelSelector, PodSelector } from './selector.ts';

/** Consulted in this order; the first tier that decides wins (C1). */
export type Tier = 'admin' | 'networkpolicy' | 'baseline';

export type Direction = 'ingress' | 'egress';

export type Action = 'accept' | 'deny' | 'pass';

export type Protocol = 'TCP' | 'UDP' | 'SCTP';

/** The protocols that have ports. */
export const PROTOCOLS: readonly Protocol[] = ['TCP', 'UDP', 'SCTP'];

export type PolicyKind =
  | 'NetworkPolicy'
  | 'ClusterNetworkPolicy'
  | 'AdminNetworkPolicy'
  | 'BaselineAdminNetworkPolicy';

/** `NetworkPolicy shop/web`, `ClusterNetworkPolicy platform`. */
export type PolicyId = `${PolicyKind} ${string}`;

/** `shop` for `NetworkPolicy shop/web`; empty for a policy of the whole cluster. */
export function namespaceOfPolicy(id: PolicyId): string {
  const from = id.indexOf(' ') + 1;
  return id.slice(from, Math.max(from, id.indexOf('/')));
}

/** Why what is in force of a policy is less than its author wrote (policystatus.ts). */
export type Closed =
  /** Temporary: it isolates and allows nothing. If another policy isolates the pod already, this one has no effect. */
  | 'rules follow'
  /** It isolates what it selects and allows nothing. */
  | IsolateOnly
  /** What it denies or passes nodes it denies everybody. */
  | 'nodes unread';

export type IsolateOnly = 'policy too large' | 'namespace too large' | 'no room' | 'refused' | 'deleted';

export interface Policy {
  readonly id: PolicyId;
  readonly kind: PolicyKind;
  /** `shop/web` for a namespaced policy, else its name. */
  readonly name: string;
  readonly tier: Tier;
  /** Priority within the tier, lower first (C11); 0 where the kind has none. */
  readonly order: number;
  readonly subject: PodSelector;
  /** Set in what `effectIfUncertain` leaves of a policy for pods of which it is not known whether the subject selects them. */
  readonly uncertain?: true;
  /**
   * Its author only wants to see what it would do: it is never in force (`ClusterState` keeps it in a map of its own).
   */
  readonly audited?: true;
  /** Why this version says less than its author wrote; absent if it is as written. */
  readonly closed?: Closed;
  /** Absent: this policy does not affect the direction (N2, C10). Present and empty: no rule matches. */
  readonly ingress?: readonly Rule[];
  readonly egress?: readonly Rule[];
}

export interface Rule {
  /** The rule's path in the object: `ingress[0]`. */
  readonly path: string;
  readonly name?: string;
  readonly action: Action;
  readonly peers: 'any' | readonly Peer[];
  readonly ports: 'any' | readonly PortMatch[];
}

export type Peer =
  | { readonly kind: 'pods'; readonly selector: PodSelector }
  | ({ readonly kind: 'nodes'; readonly selector: LabelSelector } & NodeMarks)
  | ({ readonly kind: 'network'; readonly cidr: Cidr; readonly except: readonly Cidr[] } & NodeMarks)
  | { readonly kind: 'domain'; readonly name: string };

/** What the compiler alone sets on a peer. */
export interface NodeMarks {
  /**
   *     tunnels      the network contains nodes that send from tunnels (N75)
   *     everywhere   it means nodes, in a rule that denies or passes, and so all of their addresses (C59)
   */
  readonly nodes?: 'tunnels' | 'everywhere';
  /** The agent's own node is among those that it means everywhere. */
  readonly hasOwnNode?: true;
}

export type NetworkPeer = Extract<Peer, { kind: 'network' }>;
export type DomainPeer = Extract<Peer, { kind: 'domain' }>;

/** The peers of a rule that are domain names. */
export function domainPeersOf(peers: Rule['peers']): readonly DomainPeer[] {
  return peers === 'any' ? [] : peers.filter(peer => peer.kind === 'domain');
}

export type PortMatch =
  /** All ports of one protocol. */
  | { readonly kind: 'protocol'; readonly protocol: Protocol }
  /** Both ends are included; a single port has first = last. If first > last, nothing matches. */
  | { readonly kind: 'range'; readonly protocol: Protocol; readonly first: number; readonly last: number }
  /** A container port of the destination pod; without a protocol, the container's own (C27). */
  | { readonly kind: 'named'; readonly name: string; readonly protocol?: Protocol };

/** What a decoder makes of a part that it cannot read. It never leaves the decoders: see `failClosed`. */
export interface Unknown {
  readonly kind: 'unknown';
}

/** A rule as decoded, before `failClosed` has dealt with its unknown parts. */
export interface DecodedRule extends Omit<Rule, 'peers' | 'ports' | 'action'> {
  readonly action: Action | Unknown;
  readonly peers: 'any' | Unknown | readonly (Peer | Unknown)[];
  readonly ports: 'any' | Unknown | readonly (PortMatch | Unknown)[];
}

/** Precedence of policies within a tier: priority, then kind, then name (C12, 4.19). */
export function comparePolicies(a: Policy, b: Policy): number {
  return a.order - b.order || compareText(a.kind, b.kind) || compareText(a.name, b.name);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export const DIRECTIONS: readonly Direction[] = ['ingress', 'egress'];

/** The rules of both directions. */
export function rulesOf({ ingress = [], egress = [] }: Pick<Policy, 'ingress' | 'egress'>): readonly Rule[] {
  return [...ingress, ...egress];
}

/** The policy without its rules: it isolates the pods that it selects, and allows nothing. */
export function withoutRules({ ingress, egress, ...policy }: Policy, closed: IsolateOnly): Policy {
  return { ...policy, closed, ...(ingress && { ingress: [] }), ...(egress && { egress: [] }) };
}

/** Whether nothing was left out of it when it was read, and its author wants it in force. */
export function isAsWritten({ closed, audited, subject: { namespaces, pods } }: Policy): boolean {
  const isReadable = !pods.unreadable && (namespaces.kind === 'name' || !namespaces.selector.unreadable);
  return closed === undefined && !audited && isReadable;
}

/** Short name for comments in the kernel and tables on a terminal: `shop/web`, `cnp:platform`. */
export function policyLabel({ kind, name }: Pick<Policy, 'kind' | 'name'>): string {
  return KIND_LABELS[kind] === '' ? name : `${KIND_LABELS[kind]}:${name}`;
}

const KIND_LABELS: Readonly<Record<PolicyKind, string>> = {
  NetworkPolicy: '',
  ClusterNetworkPolicy: 'cnp',
  AdminNetworkPolicy: 'anp',
  BaselineAdminNetworkPolicy: 'banp',
};

export const POLICY_KINDS = Object.keys(KIND_LABELS) as readonly PolicyKind[];
