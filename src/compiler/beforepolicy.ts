/**
 * The list of everything that is accepted before policy is evaluated: which sender may use it, at which hooks, from
 * which address and port to which. Each entry is a way past policy for anybody who can forge a packet that matches it,
 * and conntrack makes a reply to that packet `established`, which is an entry as well. So this file is the only one
 * that may write such a rule. `beforepolicy.test.ts` follows the rules from the hooks to the pod maps and finds no
 * other accept, and `test/kernel/hostile/beforepolicy.test.ts` builds its packets from this list: packets that match an
 * entry, that miss it by one field, and that would be replies to them.
 */
import { type Cidr, type Family, parseCidr } from '../model/address.ts';
import {
  addressInNetwork,
  CT_STATE,
  ctStateAny,
  destinationPort,
  hopsLeft,
  icmpTypeIs,
  icmpTypesAre,
  protocolIs,
  senderIsConnectionEnd,
  verdict,
} from '../nft/match.ts';
import { sourcePortIs } from '../nft/matchanswers.ts';
import { etherTypeIs } from '../nft/matchframe.ts';
import { packetTypeIs } from '../nft/matchinterface.ts';
import type { BaseHook, Expr, NftRule } from '../nft/ruleset.ts';

type ExemptHook = Extract<BaseHook['hook'], 'forward' | 'input' | 'output'>;

export interface Exemption {
  readonly families: readonly Family[];
  /** The hooks at which the rules of the entry are reached. */
  readonly hooks: readonly ExemptHook[];
  /** Whether only packets that arrive by the links of this node's pods match, or packets of any link. */
  readonly by: 'pods' | 'anybody';
  /** The packets that the entry accepts: each match becomes one rule. */
  readonly matches: readonly ExemptMatch[];
  /** The comment of its rules in `nft list`. */
  readonly comment?: string;
}

type ExemptMatch =
  /** The packet's conntrack state. */
  | { readonly kind: 'state'; readonly state: 'established' | 'related' }
  /** The packet's source is this end of the connection that it belongs to. */
  | { readonly kind: 'end'; readonly end: 'original' | 'reply' }
  | ExemptPacket;

export interface ExemptPacket {
  readonly kind: 'packet';
  /** The source network; absent for any address. */
  readonly from?: Cidr;
  readonly to?: Cidr;
  readonly carries: ExemptContent;
  /** The hop limit of the packet (IPv6). */
  readonly hops?: number;
}

type ExemptContent =
  | { readonly protocol: 'udp'; readonly sourcePort: number; readonly port: number }
  /** A range of ICMPv6 types, which includes both of its ends. */
  | { readonly protocol: 'icmpv6'; readonly types: readonly [number, number] };

export const [LINK_LOCAL, MULTICAST] = ['fe80::/10', 'ff00::/8'].map(cidr) as [Cidr, Cidr];
export const LOOPBACK = cidr('127.0.0.0/8');
export const UNSPECIFIED: Readonly<Record<Family, Cidr>> = { ip: cidr('0.0.0.0/32'), ip6: cidr('::/128') };

/**
 * By a listener report (RFC 2710, RFC 3810) a pod joins multicast groups: it is sent to a group, from a link-local
 * address, or from `::` while the pod has none. The queries that it answers come from a router.
 */
const LISTENER_REPORTS: readonly ExemptPacket[] = [LINK_LOCAL, UNSPECIFIED.ip6].flatMap(from =>
  (
    [
      [131, 132],
      [143, 143],
    ] as const
  ).map(
    (types): ExemptPacket => ({
      kind: 'packet',
      from,
      to: MULTICAST,
      carries: { protocol: 'icmpv6', types },
      hops: 1,
    }),
  ),
);

export const EXEMPTIONS = {
  /** N38. Conntrack keeps no entry of a denied packet, so a reply to one is not established. */
  established: {
    families: ['ip', 'ip6'],
    hooks: ['forward', 'input', 'output'],
    by: 'anybody',
    matches: [{ kind: 'state', state: 'established' }],
  },
  /**
   * N39. Errors about an allowed connection, and connections that a conntrack helper expects. For errors that pods send
   * see `ownErrors`.
   */
  related: {
    families: ['ip', 'ip6'],
    hooks: ['forward', 'input'],
    by: 'anybody',
    matches: [{ kind: 'state', state: 'related' }],
  },
  /**
   * N74. On the node's side of a connection the pod has its own address, whatever the other end has been translated to.
   */
  errorsOfOwnConnections: {
    families: ['ip', 'ip6'],
    hooks: ['forward', 'input'],
    by: 'pods',
    matches: [
      { kind: 'end', end: 'original' },
      { kind: 'end', end: 'reply' },
    ],
  },
  /**
   * N69. A reply would come from 255.255.255.255, and the kernel drops packets from that address. With another address
   * or port as destination, a pod could make ports of the node or of its neighbours the other end of a tracked
   * connection.
   */
  dhcp: {
    families: ['ip'],
    hooks: ['input'],
    by: 'pods',
    matches: [
      {
        kind: 'packet',
        from: UNSPECIFIED.ip,
        to: cidr('255.255.255.255/32'),
        carries: { protocol: 'udp', sourcePort: 68, port: 67 },
      },
    ],
    comment: 'which address the sender may have',
  },
  /** N69. Conntrack does not track them, so that no packet counts as a reply to one. */
  listenerReports: {
    families: ['ip6'],
    hooks: ['input'],
    by: 'pods',
    matches: LISTENER_REPORTS,
    comment: 'which groups the sender wants',
  },
  /**
   * N63. A packet with fewer than 255 hops left comes from beyond the link (RFC 4861), as every routed packet does.
   * Conntrack does not track these messages. Pods are no routers: they may not send types 134 and 137 (podlinks.ts).
   */
  neighbourDiscovery: {
    families: ['ip6'],
    hooks: ['forward', 'input'],
    by: 'anybody',
    matches: [{ kind: 'packet', carries: { protocol: 'icmpv6', types: [133, 137] }, hops: 255 }],
    comment: 'neighbour discovery',
  },
} as const satisfies Readonly<Record<string, Exemption>>;

export type ExemptionName = keyof typeof EXEMPTIONS;

/**
 * The set that the rules of `errorsOfOwnConnections` look up: senders of errors, each twice, side by side
 * (poderrors.ts).
 */
export const ERROR_SENDERS = 'error-senders';

/** The rules that accept what an entry exempts; empty for a family to which the entry does not apply. */
export function exempt(name: ExemptionName, family: Family): NftRule[] {
  const { comment }: Exemption = EXEMPTIONS[name];
  return matchesOf(name, family).map(exprs => ({
    exprs: [...exprs, verdict('accept')],
    ...(comment !== undefined && { comment }),
  }));
}

/** The matches of an entry, one list of expressions for each rule. */
function matchesOf(name: ExemptionName, family: Family): Expr[][] {
  const { families, matches }: Exemption = EXEMPTIONS[name];
  return families.includes(family) ? matches.map(match => matchOf(match, family)) : [];
}

/**
 * The frames that a pod may send to every port of its bridge. Rules of the IP families do not see them: ARP, packets
 * that conntrack does not track (listener reports, and neighbour discovery as far as a pod may send it), the DHCP
 * request, and frames for another port, which reach this hook as well while the bridge is promiscuous and of which
 * conntrack keeps no entry. Everything else that a pod's port may send is judged by the rules of the IP families.
 */
export function exemptFrames(): Expr[][] {
  return [packetTypeIs('other'), etherTypeIs('arp'), ...untrackedFrames(), dhcpRequest()];
}

/** Matches listener reports and neighbour discovery, which conntrack does not track. */
export function untrackedFrames(): Expr[][] {
  const types = [icmpTypesAre('ip6', 131, 133), icmpTypesAre('ip6', 135, 136), icmpTypeIs('ip6', 143)];
  return types.map(type => [...etherTypeIs('ip6'), ...type]);
}

/** DHCP of IPv4. In DHCPv6 a pod sends from its link-local address, which needs no exemption. */
export function dhcpRequest(): Expr[] {
  return [...etherTypeIs('ip'), ...matchesOf('dhcp', 'ip').flat()];
}

function matchOf(match: ExemptMatch, family: Family): Expr[] {
  if (match.kind === 'state') return ctStateAny(CT_STATE[match.state]);
  if (match.kind === 'end') return senderIsConnectionEnd(family, match.end, ERROR_SENDERS);
  const { from, to, carries, hops } = match;
  return [
    ...contentMatch(carries, family),
    ...(hops === undefined ? [] : hopsLeft(family, 'eq', hops)),
    ...(from === undefined ? [] : addressInNetwork(from, 'saddr')),
    ...(to === undefined ? [] : addressInNetwork(to, 'daddr')),
  ];
}

function contentMatch(carries: ExemptContent, family: Family): Expr[] {
  if (carries.protocol === 'icmpv6') return icmpTypesAre(family, ...carries.types);
  return [
    ...protocolIs(family, 'udp'),
    ...sourcePortIs(carries.sourcePort),
    ...destinationPort(carries.port, carries.port),
  ];
}

function cidr(text: string): Cidr {
  return parseCidr(text)!;
}
