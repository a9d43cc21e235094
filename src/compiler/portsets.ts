/** The sets of the bridge table (podports.ts), which say what may be sent by which port: made, and read back. */
import { type Address, cidrContains, familyOf } from '../model/address.ts';
import type { BridgePorts, PodPort } from '../model/cluster.ts';
import type { Mac } from '../model/mac.ts';
import { type Elements, type FieldType, MEMBER, type NftSet, type Ruleset } from '../nft/ruleset.ts';
import { LINK_LOCAL } from './beforepolicy.ts';

/** The keys contain indices of ports, or hardware addresses of the node's ends of the pods' links (`nodeMacs`). */
export const PORT_SETS = {
  ports: 'pod-ports',
  macs: 'pod-macs',
  senders: 'senders',
  senders6: 'senders6',
  linkSenders6: 'link-senders6',
  others: 'other-ports',
  nodeMacs: 'port-macs',
} as const;

/**
 * A pod without an address sends neighbour solicitations from this one, to find out whether an address is in use. For
 * IPv4 there are rules of their own for the two kinds of packets from 0.0.0.0.
 */
const NOBODY = '::' as Address;
/** Earlier agents had an element with this address for each port. */
const NOBODY_BEFORE = '0.0.0.0' as Address;

/** The sets of ports whose pods are known. */
export function senderSets(ports: readonly PodPort[]): NftSet[] {
  const own = ports.flatMap(({ index, mac, addresses }) =>
    [NOBODY, ...addresses].map(address => ({ address, key: `${index} . ${mac} . ${address}` })),
  );
  const senders = own.filter(({ address }) => familyOf(address) === 'ip').map(({ key }) => key);
  const ofIp6 = own.filter(({ address }) => familyOf(address) === 'ip6');
  const [linkSenders6, senders6] = [true, false].map(wanted =>
    ofIp6.filter(({ address }) => isOfLink(address) === wanted).map(({ key }) => key),
  ) as [string[], string[]];
  return [
    setOf(
      PORT_SETS.ports,
      ['iface_index'],
      ports.map(({ index }) => String(index)),
    ),
    setOf(
      PORT_SETS.macs,
      ['iface_index', 'ether_addr'],
      ports.map(({ index, mac }) => `${index} . ${mac}`),
    ),
    setOf(PORT_SETS.senders, ['iface_index', 'ether_addr', 'ipv4_addr'], senders),
    setOf(PORT_SETS.senders6, ['iface_index', 'ether_addr', 'ipv6_addr'], senders6),
    setOf(PORT_SETS.linkSenders6, ['iface_index', 'ether_addr', 'ipv6_addr'], linkSenders6),
  ];
}

/** Whether a pod may send only what its link needs from the address. */
function isOfLink(address: Address): boolean {
  return address === NOBODY || cidrContains(LINK_LOCAL, address);
}

/** The sets of ports that lead to no known pod. */
export function setsBeside({ others, macs }: BridgePorts): NftSet[] {
  return [
    setOf(PORT_SETS.others, ['iface_index'], others.map(String)),
    setOf(PORT_SETS.nodeMacs, ['ether_addr'], macs),
  ];
}

function setOf(name: string, key: readonly FieldType[], members: readonly string[]): NftSet {
  const elements: Elements = new Map(members.map(member => [member, MEMBER]));
  return { name, key, verdicts: false, interval: false, elements };
}

/** The ports of pods in programmed rules. */
export function podPortsIn({ tables }: Ruleset): PodPort[] | undefined {
  const sets = tables.get('bridge')?.sets;
  if (sets === undefined) return undefined;
  const found = new Map<number, PodPort & { readonly addresses: Address[] }>();
  for (const name of [PORT_SETS.senders, PORT_SETS.senders6, PORT_SETS.linkSenders6])
    for (const key of sets.get(name)?.elements.keys() ?? []) {
      const [index, mac, address] = key.split(' . ') as [string, string, Address];
      const port = found.get(Number(index)) ?? { index: Number(index), mac, addresses: [] };
      found.set(port.index, port);
      if (address !== NOBODY && address !== NOBODY_BEFORE) port.addresses.push(address);
    }
  return [...found.values()].sort((a, b) => a.index - b.index);
}

/** What programmed rules know of other ports; ports whose names they do not contain are left out. */
export function bridgePortsIn({ tables }: Ruleset): BridgePorts | undefined {
  const sets = tables.get('bridge')?.sets;
  const keys = (name: string) => [...(sets?.get(name)?.elements.keys() ?? [])];
  const [others, macs] = [
    keys(PORT_SETS.others)
      .map(Number)
      .sort((a, b) => a - b),
    keys(PORT_SETS.nodeMacs).sort() as Mac[],
  ];
  return others.length + macs.length === 0 ? undefined : { others, unknown: [], macs };
}
