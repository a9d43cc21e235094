/**
 * Peer groups: the addresses of selected pods and nodes as one hash set in the kernel, shared by every rule that
 * means the same peers. A pod that comes or goes costs one element for each group that holds it.
 */
import { type Address, type Family, familyOf } from '../model/address.ts';
import type { Pod } from '../model/cluster.ts';
import type { Peer, Protocol } from '../model/policy.ts';
import { type PodSelector, podSelectorText, selectorText } from '../model/selector.ts';
import { addressType } from '../nft/match.ts';
import { type ElementKey, type Elements, type ElementValue, MEMBER, type SetSpec } from '../nft/ruleset.ts';
import type { PodIndex } from './live/podindex.ts';
import { clip } from './names.ts';

export type MemberPeer = Extract<Peer, { kind: 'pods' | 'nodes' }>;

/** Pods that have a container port of this name, each under the numbers that it gives to it (N30, N31, C27). */
export interface NamedPortPeer {
  readonly selector: PodSelector;
  readonly port: string;
  readonly protocol?: Protocol;
}

export type Group =
  /** Elements are addresses. */
  | { readonly kind: 'peers'; readonly peers: readonly MemberPeer[] }
  /** Elements are `address . protocol . port`. */
  | { readonly kind: 'named'; readonly peers: readonly NamedPortPeer[] };

/** A group under the name that it has in both tables. */
export interface NamedGroup {
  readonly name: string;
  readonly group: Group;
}

export function groupSet({ name, group }: NamedGroup, family: Family): SetSpec {
  const address = addressType(family);
  return {
    name,
    key: group.kind === 'peers' ? [address] : [address, 'inet_proto', 'inet_service'],
    verdicts: false,
    interval: false,
    comment: clip(groupText(group)),
  };
}

function groupText(group: Group): string {
  return group.kind === 'peers'
    ? group.peers.map(memberText).join('; ')
    : group.peers.map(({ selector, port }) => `port ${port} of ${podSelectorText(selector)}`).join('; ');
}

function memberText(peer: MemberPeer): string {
  return peer.kind === 'pods' ? podSelectorText(peer.selector) : `nodes ${selectorText(peer.selector)}`;
}

export function groupElements(group: Group, family: Family, podIndex: PodIndex): Elements {
  const elements = new Map<ElementKey, ElementValue>();
  const add = (key: ElementKey) => elements.set(key, MEMBER);
  for (const peer of group.peers) {
    if ('port' in peer) {
      for (const { pod, addresses } of podIndex.select(peer.selector)) {
        for (const address of ofFamily(addresses, family)) namedPortKeys(peer, pod, address).forEach(add);
      }
    } else if (peer.kind === 'pods') {
      for (const { addresses } of podIndex.select(peer.selector)) ofFamily(addresses, family).forEach(add);
    } else {
      for (const { addresses } of podIndex.selectNodes(peer.selector))
        ofFamily(addresses, family).forEach(add);
    }
  }
  return elements;
}

function ofFamily(addresses: readonly Address[], family: Family): readonly Address[] {
  return addresses.filter(address => familyOf(address) === family);
}

/** `10.0.0.1 . tcp . 8080` for every container port of the pod that bears the name. */
export function namedPortKeys({ port, protocol }: NamedPortPeer, pod: Pod, address: Address): ElementKey[] {
  return pod.ports
    .filter(
      candidate => candidate.name === port && (protocol === undefined || candidate.protocol === protocol),
    )
    .map(candidate => `${address} . ${candidate.protocol.toLowerCase()} . ${candidate.port}`);
}
