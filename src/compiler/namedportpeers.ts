/**
 * The pods that a named port of an egress rule leads to: pods with a container port of that name, each with its own
 * port number (N30).
 */

import { getOrMake } from '../lib/collections/getormake.ts';
import {
  type Address,
  type AddressRange,
  addressToInt,
  FAMILIES,
  type Family,
  familyOf,
} from '../model/address.ts';
import type { ContainerPort, Pod } from '../model/cluster.ts';
import type { NetworkPeer } from '../model/policy.ts';
import type { NamedPort } from '../model/ports.ts';
import { type PodSelector, podSelectorText, selectsPod } from '../model/selector.ts';
import type { ElementKey } from '../nft/ruleset.ts';
import type { IndexedPod } from './live/pods/podindex.ts';
import { peerRanges, rangesContain } from './networks.ts';

/**
 * The pods that a selector selects, and those whose addresses are in the networks, with each of their ports of one of
 * the names.
 */
export interface NamedPortPeers {
  readonly selectors: readonly PodSelector[];
  readonly networks: readonly NetworkPeer[];
  readonly ports: readonly Pick<NamedPort, 'name' | 'protocol'>[];
}

/** `10.0.0.1 . tcp . 8080` for every container port of the pod that has one of the names, each once. */
export function namedPortKeys(
  peers: readonly NamedPortPeers[],
  { pod, namespace, addresses }: IndexedPod,
): readonly ElementKey[] {
  const keys = new Set<ElementKey>();
  for (const peer of peers) {
    const ports = namedPortsOf(pod, prepared(peer).protocols);
    if (ports.length === 0) continue;
    const isSelected = peer.selectors.some(selector => selectsPod(selector, pod, namespace));
    for (const address of addresses) {
      if (!isSelected && !isInNetworks(address, peer)) continue;
      for (const { protocol, port } of ports) keys.add(`${address} . ${protocol.toLowerCase()} . ${port}`);
    }
  }
  return [...keys];
}

function namedPortsOf({ ports }: Pod, protocols: Prepared['protocols']): readonly ContainerPort[] {
  return ports.filter(({ name, protocol }) => {
    const wanted = protocols.get(name);
    return wanted !== undefined && (wanted.has(undefined) || wanted.has(protocol));
  });
}

function isInNetworks(address: Address, peer: NamedPortPeers): boolean {
  return (
    peer.networks.length > 0 && rangesContain(prepared(peer).ranges[familyOf(address)], addressToInt(address))
  );
}

/** The selectors and names of a group, prepared once, because every pod is matched against them. */
interface Prepared {
  readonly ranges: Readonly<Record<Family, readonly AddressRange[]>>;
  /** Protocols by port name; a name without a protocol has the container port's own (C27). */
  readonly protocols: ReadonlyMap<string, ReadonlySet<NamedPort['protocol']>>;
}

const PREPARED = new WeakMap<NamedPortPeers, Prepared>();

function prepared(peer: NamedPortPeers): Prepared {
  const known = PREPARED.get(peer);
  if (known !== undefined) return known;
  const [ip, ip6] = FAMILIES.map(family =>
    peerRanges(peer.networks.filter(({ cidr }) => cidr.family === family)),
  );
  const protocols = new Map<string, Set<NamedPort['protocol']>>();
  for (const { name, protocol } of peer.ports) getOrMake(protocols, name, () => new Set()).add(protocol);
  const made: Prepared = { ranges: { ip: ip!, ip6: ip6! }, protocols };
  PREPARED.set(peer, made);
  return made;
}

/** `port web of pods app=shop in all namespaces`. */
export function endpointsText({ selectors, networks, ports }: NamedPortPeers): string {
  const names = ports.slice(0, 10).map(({ name }) => name);
  const who = selectors.slice(0, 10).map(podSelectorText);
  if (networks.length > 0)
    who.push(`pods in ${networks.length === 1 ? 'a network' : `${networks.length} networks`}`);
  return `port ${names.join(', ')} of ${who.join(' and ')}`;
}
