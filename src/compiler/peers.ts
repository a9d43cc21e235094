/** Compiles the peers of a set of rules into as few look-ups as possible. */

import { getOrMake } from '../lib/collections/getormake.ts';
import { contentText } from '../lib/text/contenttext.ts';
import type { Cidr } from '../model/address.ts';
import type { Direction, DomainPeer, NetworkPeer, NodeMarks } from '../model/policy.ts';
import type { PodSelector } from '../model/selector.ts';
import { type AddressField, addressIn, addressInNetwork, addressPairIn, addressType } from '../nft/match.ts';
import { interfaceIs } from '../nft/matchinterface.ts';
import { type Expr, MEMBER } from '../nft/ruleset.ts';
import type { Builder } from './builder.ts';
import { broadScope, type MemberPeer } from './group.ts';
import { type LabelledPeer, type LabelledPeers, labelsAmong, type PeerMatch } from './labelled.ts';
import { peerRanges, rangeText } from './networks.ts';

// A look-up costs 40 ns. Two look-ups cost little more than one of the union (measured), and the two sets can be shared
// with other rules.
const MOST_GROUPS = 2;

/** Ways to match any of the lists of peers, of which none is 'any'. */
export function peerMatchesOf(
  peerLists: readonly LabelledPeers[],
  direction: Direction,
  builder: Builder,
): PeerMatch[] {
  const field = direction === 'ingress' ? 'saddr' : 'daddr';
  const { members, broad, networks, names, ownNode } = sorted(peerLists, builder);
  return [
    // C59: packets that the kernel delivers to the node itself, also at addresses that no Node object lists.
    ...(ownNode.length === 0 ? [] : [{ match: interfaceIs('oif', 0), labels: ownNode }]),
    ...asFewGroups(members, peers => builder.group({ kind: 'peers', peers })).map(({ set, labels }) => ({
      match: addressIn(builder.family, field, set),
      labels,
    })),
    ...broadMatches(broad, field, builder),
    ...networkMatches(networks, field, builder),
    ...namesMatches(names, builder),
  ];
}

interface SortedPeers {
  readonly members: LabelledPeer<MemberPeer>[];
  readonly broad: LabelledPeer<PodSelector>[];
  readonly networks: LabelledPeer<NetworkPeer>[];
  readonly names: LabelledPeer<DomainPeer>[];
  /** The labels of the peers that mean the agent's own node everywhere. */
  readonly ownNode: string[];
}

function everywhere({ nodes }: NodeMarks): { readonly everywhere?: true } {
  return nodes === 'everywhere' ? { everywhere: true } : {};
}

/** The peers by the kind of match that they are compiled to; of networks those of the builder's family only. */
function sorted(peerLists: readonly LabelledPeers[], { family }: Builder): SortedPeers {
  const found: SortedPeers = { members: [], broad: [], networks: [], names: [], ownNode: [] };
  for (const { label, peers } of peerLists) {
    for (const peer of peers === 'any' ? [] : peers) {
      if (peer.kind === 'network') {
        if (peer.cidr.family !== family) continue;
        const { cidr, except, nodes } = peer;
        found.networks.push({ label, peer });
        if (nodes !== undefined)
          found.members.push({ label, peer: { kind: 'nodes in', cidr, except, ...everywhere(peer) } });
        if (peer.hasOwnNode) found.ownNode.push(label);
      } else if (peer.kind === 'nodes') {
        const { kind, selector } = peer;
        found.members.push({ label, peer: { kind, selector, ...everywhere(peer) } });
        if (peer.hasOwnNode) found.ownNode.push(label);
      } else if (peer.kind === 'pods' && broadScope(peer.selector) !== undefined)
        found.broad.push({ label, peer: peer.selector });
      else if (peer.kind === 'domain') found.names.push({ label, peer });
      else found.members.push({ label, peer });
    }
  }
  return found;
}

/**
 * Matches the pair of pod and peer: an address that one pod got in an answer is not allowed to another pod. Empty if
 * the node reads no answers.
 */
export function namesMatches(names: readonly LabelledPeer<DomainPeer>[], builder: Builder): PeerMatch[] {
  if (!builder.readsAnswers) return [];
  const makeSet = (peers: readonly DomainPeer[]) =>
    builder.group({ kind: 'names', patterns: peers.map(({ name }) => name) });
  return asFewGroups(names, makeSet).map(({ set, labels }) => ({
    match: addressPairIn(builder.family, set),
    labels,
  }));
}

/** One match for each scope. Most classes have at most two: all pods, and the pods of a namespace. */
function broadMatches(
  broad: readonly LabelledPeer<PodSelector>[],
  field: AddressField,
  builder: Builder,
): PeerMatch[] {
  const scopes = new Map<string, { scope: PodSelector; entries: LabelledPeer<PodSelector>[] }>();
  for (const entry of broad) {
    const scope = broadScope(entry.peer)!;
    getOrMake(scopes, JSON.stringify(scope), () => ({ scope, entries: [] })).entries.push(entry);
  }
  return [...scopes.values()].map(({ scope, entries }) => {
    const all = builder.group({ kind: 'peers', peers: [{ kind: 'pods', selector: scope }] });
    const selectors = inOrderOfText(entries).map(({ peer }) => peer);
    const others = builder.group({ kind: 'others', scope, selectors });
    const { family } = builder;
    return {
      match: [...addressIn(family, field, all), ...addressIn(family, field, others, true)],
      labels: entries.map(({ label }) => label),
    };
  });
}

/** A set for each distinct peer while they are few, else one set for all of them. */
export function asFewGroups<P extends object>(
  entries: readonly LabelledPeer<P>[],
  makeSet: (peers: readonly P[]) => string,
): { set: string; labels: string[] }[] {
  const distinct = new Map<string, LabelledPeer<P>[]>();
  for (const entry of entries) getOrMake(distinct, contentText(entry.peer), () => []).push(entry);
  // Sorted by content, so that a union has the same name whatever the order of its policies.
  const groups = [...distinct.entries()].sort(byText).map(([, group]) => group);
  const merged = groups.length > MOST_GROUPS ? [groups.flat()] : groups;
  return merged.map(group => ({
    set: makeSet(inOrderOfText(group).map(({ peer }) => peer)),
    labels: group.map(({ label }) => label),
  }));
}

/** Each distinct peer once, sorted by content. */
function inOrderOfText<P extends object>(entries: readonly LabelledPeer<P>[]): LabelledPeer<P>[] {
  const distinct = new Map(entries.map(entry => [contentText(entry.peer), entry]));
  return [...distinct.entries()].sort(byText).map(([, entry]) => entry);
}

function byText([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

// Networks become expressions: a few compares, or one look-up in an interval set.

// Up to 25 compares are cheaper than a look-up in any interval set (measured), and a rule of that many is not too long
// for the kernel (compiler/rulesizes.test.ts).
const MOST_COMPARES = 25;

/** Ways to match the networks of the builder's family. */
function networkMatches(
  networks: readonly LabelledPeer<NetworkPeer>[],
  field: AddressField,
  builder: Builder,
): PeerMatch[] {
  const distinct = new Map<string, LabelledPeer<NetworkPeer>[]>();
  for (const entry of networks) getOrMake(distinct, contentText(entry.peer), () => []).push(entry);
  const peers = [...distinct.values()];
  const compares = peers.reduce((sum, [entry]) => sum + 1 + entry!.peer.except.length, 0);
  if (compares > MOST_COMPARES) return setMatch(networks, peers, field, builder);
  return peers.map(entries => ({ match: compare(entries[0]!.peer, field), labels: labelsAmong(entries) }));
}

function setMatch(
  networks: readonly LabelledPeer<NetworkPeer>[],
  distinct: readonly (readonly LabelledPeer<NetworkPeer>[])[],
  field: AddressField,
  builder: Builder,
): PeerMatch[] {
  const ranges = peerRanges(distinct.map(([entry]) => entry!.peer));
  if (ranges.length === 0) return [];
  const set = builder.networkSet({
    key: [addressType(builder.family)],
    verdicts: false,
    interval: true,
    elements: new Map(ranges.map(range => [rangeText(range), MEMBER])),
  });
  return [{ match: addressIn(builder.family, field, set), labels: labelsAmong(networks) }];
}

/** `ip daddr 10.0.0.0/8 ip daddr != 10.1.0.0/16`. */
function compare({ cidr, except }: NetworkPeer, field: AddressField): Expr[] {
  const ofFamily = except.filter((hole: Cidr) => hole.family === cidr.family);
  return [...addressInNetwork(cidr, field), ...ofFamily.flatMap(hole => addressInNetwork(hole, field, true))];
}
