/**
 * Who may send by which port of a bridge. Rules of IP do not see by which of its ports a packet came, so that a pod could
 * send as its neighbour; frames with a VLAN tag never come to them. So a table of bridges asks first, of what comes by a
 * port that leads to a pod (N70):
 *
 *     prerouting ──▶ by whom the port leads to: its hardware address, its addresses ──▶ on
 *         └─────────▶ by the port of a pod otherwise: drop
 *
 * A port that is not known passes as before. A port has its number for itself while the node runs, and is one pod's for
 * as long as it is there: what an agent leaves behind is not wrong for whoever comes next.
 */
import { type Address, familyOf } from '../model/address.ts';
import { byName } from '../model/byname.ts';
import type { PodPort } from '../model/cluster.ts';
import { PROTOCOL_NUMBER } from '../model/ipprotocol.ts';
import { icmpTypeIs, protocolIs, protocolNumberIs, verdict } from '../nft/match.ts';
import { FRAGMENT, isFragment, isLaterFragment, nextHeaderIs } from '../nft/matchextension.ts';
import { etherTypeIs, forBridgeItself, senderIn, senderIsNobody } from '../nft/matchframe.ts';
import { interfaceIn, packetTypeIs } from '../nft/matchinterface.ts';
import {
  type BaseHook,
  type Chain,
  type Elements,
  type FieldType,
  MEMBER,
  type NftRule,
  type NftSet,
  type Ruleset,
  type Table,
} from '../nft/ruleset.ts';

const SETS = { ports: 'pod-ports', senders: 'senders', senders6: 'senders6' } as const;
const CHAINS = {
  port: 'from-pod-port',
  probed: 'probed',
  ip6: 'from-pod-port-ip6',
  icmpv6: 'from-pod-port-icmpv6',
  advertised: 'advertised',
  unread: 'unread',
} as const;
const NEIGHBOUR = { solicitation: 135, advertisement: 136 } as const;
/** A listener query (RFC 2710), and a multicast router's advertisement (RFC 4286). */
const OF_MULTICAST_ROUTERS = [130, 151] as const;
// NF_BR_PRI_FILTER_BRIDGED: before br_netfilter (0) hands a packet to the rules of IP, and before the bridge learns from it.
const BRIDGE_FILTER = -200;

/** None where nobody knows which ports lead to pods. */
export function podPortsTable(ports: readonly PodPort[] | undefined): Table | undefined {
  return ports && { chains: byName(CHAINS_OF_PORTS), sets: byName(senderSets(ports)) };
}

const CHAINS_OF_PORTS: readonly Chain[] = [
  { name: 'prerouting', hook: hook('prerouting'), rules: [ofIp(), toPort()] },
  // What is for the bridge alone never comes to prerouting, and it would learn from it all the same.
  {
    name: 'input',
    hook: hook('input'),
    rules: [fromPodToBridge()],
  },
  {
    name: CHAINS.port,
    rules: [
      { exprs: [...etherTypeIs('arp'), ...senderIsNobody('arp'), verdict('goto', CHAINS.probed)] },
      { exprs: [...etherTypeIs('arp'), ...senderIn('ip', 'arp saddr ip', SETS.senders), verdict('accept')] },
      {
        exprs: [
          ...etherTypeIs('ip6'),
          ...senderIn('ip6', 'ip6 saddr', SETS.senders6),
          verdict('goto', CHAINS.ip6),
        ],
      },
      dropped('from an address that is not the pod’s, or of no kind that pods send'),
    ],
  },
  {
    name: CHAINS.probed,
    rules: [
      { exprs: [...etherTypeIs('arp'), ...senderIn('ip', 'arp daddr ip', SETS.senders), verdict('accept')] },
      dropped('a probe of an address that is not the pod’s'),
    ],
  },
  ...ofIp6(),
  ...ofIcmpv6(),
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
        { exprs: [...senderIn('ip6', 'advertised', SETS.senders6), verdict('accept')] },
        dropped('an advertisement or a probe of an address that is not the pod’s'),
      ],
    },
  ];
}

function dropped(comment: string): NftRule {
  return { exprs: [verdict('drop')], comment };
}

/** Whatever a pod sends by its bridge to the node comes here too: it goes on after one byte that the kernel has at hand. */
function fromPodToBridge(): NftRule {
  const forBridge = [...packetTypeIs('multicast'), ...forBridgeItself()];
  return {
    exprs: [...forBridge, ...interfaceIn('iif', SETS.ports), verdict('drop')],
    comment: 'from a pod to the bridge itself',
  };
}

function hook(name: BaseHook['hook']): BaseHook {
  return { hook: name, priority: BRIDGE_FILTER, policy: 'accept' };
}

/** First, because it is most of what pods send. */
function ofIp(): NftRule {
  return { exprs: [...etherTypeIs('ip'), ...senderIn('ip', 'ip saddr', SETS.senders), verdict('accept')] };
}

function toPort(): NftRule {
  return { exprs: [...interfaceIn('iif', SETS.ports), verdict('goto', CHAINS.port)] };
}

/** Who has no address yet sends as nobody: DHCP, ARP probes, and the question whether an address is taken. */
const NOBODY = ['0.0.0.0', '::'] as readonly string[] as readonly Address[];

function senderSets(ports: readonly PodPort[]): NftSet[] {
  const own = ports.flatMap(({ index, mac, addresses }) =>
    [...NOBODY, ...addresses].map(address => ({ address, key: `${index} . ${mac} . ${address}` })),
  );
  const senders = own.filter(({ address }) => familyOf(address) === 'ip').map(({ key }) => key);
  const senders6 = own.filter(({ address }) => familyOf(address) === 'ip6').map(({ key }) => key);
  return [
    setOf(
      SETS.ports,
      ['iface_index'],
      ports.map(({ index }) => String(index)),
    ),
    setOf(SETS.senders, ['iface_index', 'ether_addr', 'ipv4_addr'], senders),
    setOf(SETS.senders6, ['iface_index', 'ether_addr', 'ipv6_addr'], senders6),
  ];
}

function setOf(name: string, key: readonly FieldType[], members: readonly string[]): NftSet {
  const elements: Elements = new Map(members.map(member => [member, MEMBER]));
  return { name, key, verdicts: false, interval: false, elements };
}

/** What rules that are programmed know of ports. */
export function podPortsIn({ tables }: Ruleset): PodPort[] | undefined {
  const sets = tables.get('bridge')?.sets;
  if (sets === undefined) return undefined;
  const found = new Map<number, PodPort & { readonly addresses: Address[] }>();
  for (const name of [SETS.senders, SETS.senders6])
    for (const key of sets.get(name)?.elements.keys() ?? []) {
      const [index, mac, address] = key.split(' . ') as [string, string, Address];
      const port = found.get(Number(index)) ?? { index: Number(index), mac, addresses: [] };
      found.set(port.index, port);
      if (!NOBODY.includes(address)) port.addresses.push(address);
    }
  return [...found.values()].sort((a, b) => a.index - b.index);
}
