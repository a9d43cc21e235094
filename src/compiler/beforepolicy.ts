/**
 * Everything that is accepted before policy is asked: who may use it, at which hooks, from which address and port to
 * which. Each entry is a way past policy for whoever can write a packet that matches it, and conntrack takes what answers
 * that packet for `established`, which is an entry as well. So there is no other way to write such a rule:
 * `beforepolicy.test.ts` follows the rules from the hooks to the maps of pods and finds no other accept, and
 * `test/kernel/hostile/beforepolicy.test.ts` makes its packets from this list: those that match an entry or miss it by one
 * field, and what a reply to each of them would be.
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
  senderIsEnd,
  verdict,
} from '../nft/match.ts';
import { sourcePortIs } from '../nft/matchanswers.ts';
import { etherTypeIs } from '../nft/matchframe.ts';
import { packetTypeIs } from '../nft/matchinterface.ts';
import type { BaseHook, Expr, NftRule } from '../nft/ruleset.ts';

type ExemptHook = Extract<BaseHook['hook'], 'forward' | 'input' | 'output'>;

export interface Exemption {
  readonly families: readonly Family[];
  /** Hooks at which its rules are reached. */
  readonly hooks: readonly ExemptHook[];
  /** By the links of this node's pods alone, or by any link. */
  readonly by: 'pods' | 'anybody';
  /** One rule each. */
  readonly matches: readonly ExemptMatch[];
  /** What `nft list` shows beside its rules. */
  readonly comment?: string;
}

type ExemptMatch =
  /** What conntrack says of the packet. */
  | { readonly kind: 'state'; readonly state: 'established' | 'related' }
  /** The packet's sender is this end of the connection that the packet belongs to. */
  | { readonly kind: 'end'; readonly end: 'original' | 'reply' }
  | ExemptPacket;

export interface ExemptPacket {
  readonly kind: 'packet';
  /** Any address where it is left out. */
  readonly from?: Cidr;
  readonly to?: Cidr;
  readonly carries: ExemptContent;
  /** Hops that are left (IPv6). */
  readonly hops?: number;
}

type ExemptContent =
  | { readonly protocol: 'udp'; readonly sourcePort: number; readonly port: number }
  /** Both ends are included. */
  | { readonly protocol: 'icmpv6'; readonly types: readonly [number, number] };

export const [LINK_LOCAL, MULTICAST] = ['fe80::/10', 'ff00::/8'].map(cidr) as [Cidr, Cidr];
export const UNSPECIFIED: Readonly<Record<Family, Cidr>> = { ip: cidr('0.0.0.0/32'), ip6: cidr('::/128') };

/**
 * A listener report (RFC 2710, RFC 3810) is how a pod says which groups it wants: to a group, from an address of the
 * link, or from none while it has none. The queries that it answers are a router's.
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
  /** N38. Conntrack keeps no entry of a packet that is denied, so that what answers one is not established. */
  established: {
    families: ['ip', 'ip6'],
    hooks: ['forward', 'input', 'output'],
    by: 'anybody',
    matches: [{ kind: 'state', state: 'established' }],
  },
  /** N39. Errors of an allowed connection, and what a helper of conntrack expects. Errors of pods: `ownErrors`. */
  related: {
    families: ['ip', 'ip6'],
    hooks: ['forward', 'input'],
    by: 'anybody',
    matches: [{ kind: 'state', state: 'related' }],
  },
  /** N74. The node's side of a connection has the pod's own address, whatever the other has been translated to. */
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
   * N69. A reply to it would come from 255.255.255.255, which the kernel takes from nobody. To any other address, or with
   * any other port, a pod would make the node's ports, or its neighbours', the other end of a known connection.
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
  /** N69. Conntrack does not track them: nothing is a reply to one. */
  listenerReports: {
    families: ['ip6'],
    hooks: ['input'],
    by: 'pods',
    matches: LISTENER_REPORTS,
    comment: 'which groups the sender wants',
  },
  /**
   * N63. With fewer than 255 hops left it comes from further away (RFC 4861), and what is routed has fewer. Conntrack does
   * not track it. Pods are no routers: of types 134 and 137 they send none (podlinks.ts).
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

/** What the rules of `errorsOfOwnConnections` ask: senders of errors, each beside itself (poderrors.ts). */
export const ERROR_SENDERS = 'error-senders';

/** The rules that accept what an entry exempts; none in a family that it has nothing to do with. */
export function exempt(name: ExemptionName, family: Family): NftRule[] {
  const { comment }: Exemption = EXEMPTIONS[name];
  return matchesOf(name, family).map(exprs => ({
    exprs: [...exprs, verdict('accept')],
    ...(comment !== undefined && { comment }),
  }));
}

/** What these rules ask, one by one. */
function matchesOf(name: ExemptionName, family: Family): Expr[][] {
  const { families, matches }: Exemption = EXEMPTIONS[name];
  return families.includes(family) ? matches.map(match => matchOf(match, family)) : [];
}

/**
 * What a pod may have everybody on its bridge hear. The rules of IP do not see these frames: they are ARP, what connection
 * tracking leaves alone (listener reports and neighbour discovery, as far as a pod may send it), the question for an
 * address, and what the bridge has others hear as well while somebody listens on it, of which the kernel keeps nothing.
 * Whatever else the port of a pod may send is judged by the rules of IP.
 */
export function exemptFrames(): Expr[][] {
  return [packetTypeIs('other'), etherTypeIs('arp'), ...untrackedFrames(), questionForAddress()];
}

/** Listener reports and neighbour discovery. */
export function untrackedFrames(): Expr[][] {
  const types = [icmpTypesAre('ip6', 131, 133), icmpTypesAre('ip6', 135, 136), icmpTypeIs('ip6', 143)];
  return types.map(type => [...etherTypeIs('ip6'), ...type]);
}

/** DHCP of IPv4. By IPv6 a pod asks from its link-local address. */
export function questionForAddress(): Expr[] {
  return [...etherTypeIs('ip'), ...matchesOf('dhcp', 'ip').flat()];
}

function matchOf(match: ExemptMatch, family: Family): Expr[] {
  if (match.kind === 'state') return ctStateAny(CT_STATE[match.state]);
  if (match.kind === 'end') return senderIsEnd(family, match.end, ERROR_SENDERS);
  const { from, to, carries, hops } = match;
  return [
    ...contentOf(carries, family),
    ...(hops === undefined ? [] : hopsLeft(family, 'eq', hops)),
    ...(from === undefined ? [] : addressInNetwork(from, 'saddr')),
    ...(to === undefined ? [] : addressInNetwork(to, 'daddr')),
  ];
}

function contentOf(carries: ExemptContent, family: Family): Expr[] {
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
