/**
 * Which packets a pod may send by its port of a bridge. Rules of the IP families do not see by which port a packet
 * came, so a pod could send from its neighbour's address, and they do not see frames with a VLAN tag. So a table of
 * bridges checks frames that arrive by a port which leads to a pod (N70):
 *
 *     prerouting ──▶ from the hardware address and an address of the port's pod ──▶ on
 *                └─────────▶ from the port of a pod otherwise: drop
 *     input      ──▶ for the node's own address ──▶ on
 *                └─────▶ for all hosts, or for the node by the address of one of its ports: on if conntrack does not
 *                        track it, drop otherwise
 *
 * The kernel lets conntrack track frames that are not for the bridge's own address behind `input`, before a rule of the
 * IP families judges them (br_nf_local_in). Replies to them would be established, whatever the policies are.
 *
 * Where unknown pods are allowed, a port that is not known passes as before. An interface index is not used again while
 * the node runs, and a port belongs to one pod as long as it exists: rules that an ended agent leaves behind do not
 * apply to a later pod.
 */
import { byName } from '../lib/text/byname.ts';
import type { BridgePorts, NodeLinks } from '../model/cluster.ts';
import { PROTOCOL_NUMBER } from '../model/ipprotocol.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import { icmpTypeIs, protocolIs, protocolNumberIs, verdict } from '../nft/match.ts';
import { FRAGMENT, isFragment, isLaterFragment, nextHeaderIs } from '../nft/matchextension.ts';
import {
  etherTypeIs,
  forBridgeItself,
  frameIsTo,
  hardwareSenderIn,
  isArpRequestOrReply,
  senderIn,
  senderIsUnspecified,
} from '../nft/matchframe.ts';
import { interfaceIn, interfaceKindIs, packetTypeIs } from '../nft/matchinterface.ts';
import type { BaseHook, Chain, Expr, NftRule, Table } from '../nft/ruleset.ts';
import { dhcpRequest, exemptFrames, untrackedFrames } from './beforepolicy.ts';
import { PORT_SETS, senderSets, setsBeside } from './portsets.ts';

const CHAINS = {
  port: 'from-pod-port',
  arp: 'from-pod-port-arp',
  probed: 'probed',
  ip6: 'from-pod-port-ip6',
  icmpv6: 'from-pod-port-icmpv6',
  link: 'from-pod-port-link',
  advertised: 'advertised',
  unread: 'unread',
  notForHost: 'not-for-host',
} as const;
const NEIGHBOUR = { solicitation: 135, advertisement: 136 } as const;
/** Multicast listener query (RFC 2710) and multicast router advertisement (RFC 4286). */
const OF_MULTICAST_ROUTERS = [130, 151] as const;
// NF_BR_PRI_FILTER_BRIDGED: before br_netfilter (0) hands a packet to the rules of the IP families, and before the
// bridge learns from it.
const BRIDGE_FILTER = -200;

/** The table of bridges; undefined if the ports that lead to pods are not known. */
export function podPortsTable(links: NodeLinks | undefined, unknownPods: UnknownPods): Table | undefined {
  const { podPorts, bridgePorts = NOTHING_BESIDE } = links ?? {};
  if (podPorts === undefined) return undefined;
  const prerouting = [ofIp(), toPort(), ...(unknownPods === 'deny' ? [fromUnknownPort()] : [])];
  return {
    chains: byName([{ name: 'prerouting', hook: hook('prerouting'), rules: prerouting }, ...CHAINS_OF_PORTS]),
    sets: byName([...senderSets(podPorts), ...setsBeside(bridgePorts)]),
  };
}

const NOTHING_BESIDE: BridgePorts = { others: [], unknown: [], macs: [] };

const CHAINS_OF_PORTS: readonly Chain[] = [
  { name: 'input', hook: hook('input'), rules: [notForHost()] },
  ofManyAndOthers(),
  {
    name: CHAINS.port,
    rules: [
      {
        exprs: [
          ...etherTypeIs('arp'),
          ...isArpRequestOrReply(),
          ...hardwareSenderIn('arp saddr ether', PORT_SETS.macs),
          verdict('goto', CHAINS.arp),
        ],
      },
      {
        exprs: [...dhcpRequest(), ...hardwareSenderIn('ether saddr', PORT_SETS.macs), verdict('accept')],
      },
      {
        exprs: [
          ...etherTypeIs('ip6'),
          ...senderIn('ip6', 'ip6 saddr', PORT_SETS.senders6),
          verdict('goto', CHAINS.ip6),
        ],
      },
      {
        exprs: [
          ...etherTypeIs('ip6'),
          ...senderIn('ip6', 'ip6 saddr', PORT_SETS.linkSenders6),
          verdict('goto', CHAINS.link),
        ],
      },
      dropped('from an address that is not the pod’s, or of no kind that pods send'),
    ],
  },
  {
    name: CHAINS.arp,
    rules: [
      { exprs: [...etherTypeIs('arp'), ...senderIsUnspecified('arp'), verdict('goto', CHAINS.probed)] },
      {
        exprs: [
          ...etherTypeIs('arp'),
          ...senderIn('ip', 'arp saddr ip', PORT_SETS.senders),
          verdict('accept'),
        ],
      },
      dropped('from an address that is not the pod’s'),
    ],
  },
  {
    name: CHAINS.probed,
    rules: [
      {
        exprs: [
          ...etherTypeIs('arp'),
          ...senderIn('ip', 'arp daddr ip', PORT_SETS.senders),
          verdict('accept'),
        ],
      },
      dropped('a probe of an address that is not the pod’s'),
    ],
  },
  ...ofIp6(),
  ...ofIcmpv6(),
  ofLink(),
];

/**
 * Frames reach this hook as they arrived; IPv6 fragments are reassembled behind it. A fragment must not hide what the
 * whole packet is, nor change it: behind other extension headers the kernel writes the type of the next header over a
 * byte of the source address that the sender can choose, if the headers are longer than 255 bytes (nf_ct_frag6_reasm).
 */
function ofIp6(): Chain[] {
  const { tcp, udp, icmpv6 } = PROTOCOL_NUMBER;
  return [
    {
      name: CHAINS.ip6,
      rules: [
        ...[tcp, udp].map(number => ({ exprs: [...nextHeaderIs(number), verdict('accept')] })),
        {
          exprs: [...nextHeaderIs(FRAGMENT, true), ...isFragment(), verdict('drop')],
          comment: 'a piece whose other headers the kernel would change',
        },
        { exprs: [...protocolNumberIs('ip6', icmpv6, true), verdict('accept')] },
        { exprs: [...protocolIs('ip6', 'icmpv6'), verdict('goto', CHAINS.icmpv6)] },
        { exprs: [verdict('goto', CHAINS.unread)] },
      ],
    },
    {
      name: CHAINS.unread,
      rules: [
        { exprs: [...isLaterFragment(), verdict('accept')] },
        dropped('cut off before it says what it is'),
      ],
    },
  ];
}

/**
 * From a link-local address of the pod, or from `::`. Policy does not know whose these addresses are: a packet that was
 * sent to one of them from elsewhere would make anything that the pod sends from it a reply (N69).
 */
function ofLink(): Chain {
  return {
    name: CHAINS.link,
    rules: [
      { exprs: [...isFragment(), verdict('drop')], comment: 'a piece' },
      ...untrackedFrames().map(type => ({ exprs: [...type, verdict('goto', CHAINS.icmpv6)] })),
      dropped('from an address of the link, or from none'),
    ],
  };
}

/**
 * ICMPv6 messages that hosts and the bridge trust, beside those about the owner of an address. A host gives up an
 * address that it is about to take if another host sends a solicitation for it from `::` (RFC 4862). A bridge that has
 * seen a query sends multicast, which neighbour discovery needs, only to ports that answered one, so that pods would
 * not find each other.
 */
function ofIcmpv6(): Chain[] {
  const toAdvertised = verdict('goto', CHAINS.advertised);
  return [
    {
      name: CHAINS.icmpv6,
      rules: [
        { exprs: [...icmpTypeIs('ip6', NEIGHBOUR.advertisement), toAdvertised] },
        {
          exprs: [
            ...icmpTypeIs('ip6', NEIGHBOUR.solicitation),
            ...etherTypeIs('ip6'),
            ...senderIsUnspecified('ip6'),
            toAdvertised,
          ],
        },
        ...OF_MULTICAST_ROUTERS.map(type => ({
          exprs: [...icmpTypeIs('ip6', type), verdict('drop')],
          comment: 'from a pod that is no router',
        })),
        { exprs: [...icmpTypeIs('ip6', NEIGHBOUR.advertisement, true), verdict('accept')] },
        { exprs: [verdict('goto', CHAINS.unread)] },
      ],
    },
    {
      name: CHAINS.advertised,
      rules: [
        ...[PORT_SETS.senders6, PORT_SETS.linkSenders6].map(set => ({
          exprs: [...senderIn('ip6', 'advertised', set), verdict('accept')],
        })),
        dropped('an advertisement or a probe of an address that is not the pod’s'),
      ],
    },
  ];
}

function dropped(comment: string): NftRule {
  return { exprs: [verdict('drop')], comment };
}

/** Matches veths that may be ports of a pods' bridge: all but those that are known to be ports of another bridge. */
function byPort(): Expr[] {
  return [...interfaceKindIs('veth'), ...interfaceIn('iif', PORT_SETS.others, true)];
}

/** The comment of the rule that drops what unknown pods send by a port, where they are denied. */
export const FROM_UNKNOWN_PORT = 'from a port that nobody knows';

/**
 * Behind the rules of known ports. The bridge of a new port is not known yet, so that frames to another bridge are
 * dropped too until the agent has read it.
 */
export function fromUnknownPort(): NftRule {
  return { exprs: [...byPort(), verdict('drop')], comment: FROM_UNKNOWN_PORT };
}

/** Frames from a pod to the node reach this hook too. They go on after a compare of one byte. */
function notForHost(): NftRule {
  return { exprs: [...packetTypeIs('host', true), ...byPort(), verdict('goto', CHAINS.notForHost)] };
}

/** Frames that a pod may send to all ports of the bridge are in the list of what is accepted before policy. */
function ofManyAndOthers(): Chain {
  return {
    name: CHAINS.notForHost,
    rules: [
      {
        exprs: [...packetTypeIs('other'), ...frameIsTo(PORT_SETS.nodeMacs), verdict('drop')],
        comment: 'to another port of the bridge',
      },
      // The kernel does not forward these, and they skip prerouting, but the bridge would learn from them.
      { exprs: [...forBridgeItself(), verdict('drop')], comment: 'from a pod to the bridge itself' },
      ...exemptFrames().map(exprs => ({ exprs: [...exprs, verdict('accept')] })),
      dropped('from a pod to everybody'),
    ],
  };
}

function hook(name: BaseHook['hook']): BaseHook {
  return { hook: name, priority: BRIDGE_FILTER, policy: 'accept' };
}

/** First, because most frames of pods are IPv4. */
function ofIp(): NftRule {
  return {
    exprs: [...etherTypeIs('ip'), ...senderIn('ip', 'ip saddr', PORT_SETS.senders), verdict('accept')],
  };
}

function toPort(): NftRule {
  return { exprs: [...interfaceIn('iif', PORT_SETS.ports), verdict('goto', CHAINS.port)] };
}
