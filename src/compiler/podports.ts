/**
 * Who may send by which port of a bridge. Rules of IP do not see by which of its ports a packet came, so that a pod could
 * send as its neighbour; frames with a VLAN tag never come to them. So a table of bridges asks first, of what comes by a
 * port that leads to a pod (N70):
 *
 *     prerouting ──▶ by whom the port leads to: its hardware address, its addresses ──▶ on
 *         └─────────▶ by the port of a pod otherwise: drop
 *     input ──▶ for the node's own address ──▶ on
 *       └─────▶ for everybody, or for the node by an address of one of its ports: on if connection tracking does not
 *               take it, drop otherwise
 *
 * The kernel puts what is not for the bridge's own address into connection tracking behind `input`, before a rule of IP
 * judges it (br_nf_local_in). Its answers would be established, whatever policy says.
 *
 * A port that is not known passes as before, where unknown pods are allowed. A port has its number for itself while the
 * node runs, and is one pod's for as long as it is there: what an agent leaves behind is not wrong for whoever comes next.
 */
import { byName } from '../lib/text/byname.ts';
import type { BridgePorts, NodeLinks } from '../model/cluster.ts';
import { PROTOCOL_NUMBER } from '../model/ipprotocol.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import { icmpTypeIs, protocolIs, protocolNumberIs, verdict } from '../nft/match.ts';
import { FRAGMENT, isFragment, isLaterFragment, nextHeaderIs } from '../nft/matchextension.ts';
import {
  asksOrAnswers,
  etherTypeIs,
  forBridgeItself,
  frameIsTo,
  hardwareSenderIn,
  senderIn,
  senderIsNobody,
} from '../nft/matchframe.ts';
import { interfaceIn, interfaceKindIs, packetTypeIs } from '../nft/matchinterface.ts';
import type { BaseHook, Chain, Expr, NftRule, Table } from '../nft/ruleset.ts';
import { exemptFrames, questionForAddress, untrackedFrames } from './beforepolicy.ts';
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
/** A listener query (RFC 2710), and a multicast router's advertisement (RFC 4286). */
const OF_MULTICAST_ROUTERS = [130, 151] as const;
// NF_BR_PRI_FILTER_BRIDGED: before br_netfilter (0) hands a packet to the rules of IP, and before the bridge learns from it.
const BRIDGE_FILTER = -200;

/** None where nobody knows which ports lead to pods. */
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
          ...asksOrAnswers(),
          ...hardwareSenderIn('arp saddr ether', PORT_SETS.macs),
          verdict('goto', CHAINS.arp),
        ],
      },
      {
        exprs: [
          ...questionForAddress(),
          ...hardwareSenderIn('ether saddr', PORT_SETS.macs),
          verdict('accept'),
        ],
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
      { exprs: [...etherTypeIs('arp'), ...senderIsNobody('arp'), verdict('goto', CHAINS.probed)] },
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
 * Frames are seen here as they come, and packets of IPv6 behind this hook are put together from their pieces. A piece
 * must not hide what the whole is, nor change it: behind other headers the kernel writes the type of what follows over
 * a byte of the sender's address, of the pod's choice, where that chain is longer than 255 bytes (nf_ct_frag6_reasm).
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
 * A pod's link-local addresses, and none: no policy knows whose they are, so that what was sent to one of them from
 * elsewhere would make anything that the pod sends from it an answer (N69).
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
 * What hosts and the bridge believe beside whose an address is. A host gives up the address that it is about to take where
 * somebody else asks for it from no address (RFC 4862); a bridge that has heard a query sends multicast, by which
 * neighbours are looked for, to those alone who answered one, and no pod hears another's.
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
            ...senderIsNobody('ip6'),
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

/** Matches veths that are ports of a bridge of pods as far as anybody knows: all that are known to be of no other bridge. */
function byPort(): Expr[] {
  return [...interfaceKindIs('veth'), ...interfaceIn('iif', PORT_SETS.others, true)];
}

/**
 * Behind the ports that are known. It is not known yet of which bridge a new port is: so what comes to another bridge is
 * dropped too, until the agent has read it.
 */
function fromUnknownPort(): NftRule {
  return { exprs: [...byPort(), verdict('drop')], comment: 'from a port that nobody knows' };
}

/** What a pod sends by its bridge to the node comes here too. It goes on after one byte that the kernel has at hand. */
function notForHost(): NftRule {
  return { exprs: [...packetTypeIs('host', true), ...byPort(), verdict('goto', CHAINS.notForHost)] };
}

/** What everybody on the bridge may hear of a pod is in the list of what is accepted before policy. */
function ofManyAndOthers(): Chain {
  return {
    name: CHAINS.notForHost,
    rules: [
      {
        exprs: [...packetTypeIs('other'), ...frameIsTo(PORT_SETS.nodeMacs), verdict('drop')],
        comment: 'to another port of the bridge',
      },
      // Never comes to prerouting, and the bridge would learn from it all the same.
      { exprs: [...forBridgeItself(), verdict('drop')], comment: 'from a pod to the bridge itself' },
      ...exemptFrames().map(exprs => ({ exprs: [...exprs, verdict('accept')] })),
      dropped('from a pod to everybody'),
    ],
  };
}

function hook(name: BaseHook['hook']): BaseHook {
  return { hook: name, priority: BRIDGE_FILTER, policy: 'accept' };
}

/** First, because it is most of what pods send. */
function ofIp(): NftRule {
  return {
    exprs: [...etherTypeIs('ip'), ...senderIn('ip', 'ip saddr', PORT_SETS.senders), verdict('accept')],
  };
}

function toPort(): NftRule {
  return { exprs: [...interfaceIn('iif', PORT_SETS.ports), verdict('goto', CHAINS.port)] };
}
