/** The peers of a set of rules, as few look-ups as they can be. */
import type { Cidr } from '../model/address.ts';
import type { Direction, Peer, Rule } from '../model/policy.ts';
import { EVERY_NAMESPACE, EVERYTHING } from '../model/selector.ts';
import {
  type AddressField,
  addressIn,
  addressInNetwork,
  addressProtocolPortIn,
  addressType,
} from '../nft/match.ts';
import { type Expr, MEMBER } from '../nft/ruleset.ts';
import type { Builder } from './builder.ts';
import type { Group, MemberPeer, NamedPortPeer } from './group.ts';
import { getOrMake } from './live/podindex.ts';
import { type NetworkPeer, rangesOf, rangeText } from './networks.ts';

export interface SourcedRule {
  readonly rule: Rule;
  /** `shop/web ingress[0]`: names the rule in the kernel. */
  readonly label: string;
}

/** Peers, and the rule that names them. */
export interface LabelledPeers {
  readonly label: string;
  readonly peers: 'any' | readonly Peer[];
}

/** One way to match: all of its expressions hold. */
export interface PeerMatch {
  readonly match: readonly Expr[];
  readonly labels: readonly string[];
}

// Look-ups one after another cost 40 ns each; two of them cost little more than one of their union (measured), and
// share their sets with other rules.
const MOST_GROUPS = 2;
// Up to 25 compares are cheaper than a look-up in any interval set (measured).
const MOST_COMPARES = 25;

/** Alternatives for peerLists of which none means any peer. Domain names match nothing before there is a resolver. */
export function peerMatchesOf(
  peerLists: readonly LabelledPeers[],
  direction: Direction,
  builder: Builder,
): PeerMatch[] {
  const field = direction === 'ingress' ? 'saddr' : 'daddr';
  const labelled = peerLists.flatMap(({ label, peers }) =>
    peers === 'any' ? [] : peers.map(peer => ({ label, peer })),
  );
  const members = labelled.filter((entry): entry is Labelled<MemberPeer> => isMember(entry.peer));
  const networks = labelled.filter((entry): entry is Labelled<NetworkPeer> => entry.peer.kind === 'network');
  return [
    ...groupMatches(members, peers => ({ kind: 'peers', peers }), builder).map(({ set, labels }) => ({
      match: addressIn(builder.family, field, set),
      labels,
    })),
    ...networkMatches(
      networks.filter(({ peer }) => peer.cidr.family === builder.family),
      field,
      builder,
    ),
  ];
}

interface Labelled<P> {
  readonly label: string;
  readonly peer: P;
}

function isMember(peer: Peer): peer is MemberPeer {
  return peer.kind === 'pods' || peer.kind === 'nodes';
}

/** A set for each distinct peer while they are few, else one set for all of them. */
function groupMatches<P extends object>(
  entries: readonly Labelled<P>[],
  makeGroup: (peers: readonly P[]) => Group,
  builder: Builder,
): { set: string; labels: string[] }[] {
  const distinct = new Map<string, Labelled<P>[]>();
  for (const entry of entries) {
    getOrMake(distinct, textOf(entry.peer), () => []).push(entry);
  }
  // In the order of their meaning, so that a union has one name whatever the order of its policies.
  const groups = [...distinct.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
  const merged = groups.length > MOST_GROUPS ? [groups.flat()] : groups;
  return merged.map(group => ({
    set: builder.group(makeGroup(distinctPeers(group))),
    labels: group.map(({ label }) => label),
  }));
}

function distinctPeers<P extends object>(entries: readonly Labelled<P>[]): P[] {
  return [...new Map(entries.map(({ peer }) => [textOf(peer), peer])).values()];
}

const texts = new WeakMap<object, string>();

/** The same for peers that mean the same; made once for each object. */
function textOf(peer: object): string {
  const text = texts.get(peer) ?? JSON.stringify(peer);
  texts.set(peer, text);
  return text;
}

function networkMatches(
  networks: readonly Labelled<NetworkPeer>[],
  field: AddressField,
  builder: Builder,
): PeerMatch[] {
  const compares = networks.reduce((sum, { peer }) => sum + 1 + peer.except.length, 0);
  if (compares <= MOST_COMPARES) {
    return networks.map(({ label, peer }) => ({ match: networkMatch(peer, field), labels: [label] }));
  }
  const elements = new Map(
    rangesOf(networks.map(({ peer }) => peer)).map(range => [rangeText(range), MEMBER]),
  );
  const set = builder.networkSet({
    key: [addressType(builder.family)],
    verdicts: false,
    interval: true,
    elements,
  });
  return [{ match: addressIn(builder.family, field, set), labels: networks.map(({ label }) => label) }];
}

/** `ip daddr 10.0.0.0/8 ip daddr != 10.1.0.0/16`. */
function networkMatch({ cidr, except }: NetworkPeer, field: AddressField): Expr[] {
  const ofFamily = except.filter((hole: Cidr) => hole.family === cidr.family);
  return [...addressInNetwork(cidr, field), ...ofFamily.flatMap(hole => addressInNetwork(hole, field, true))];
}

/**
 * Egress to named ports: a destination matches if it is a pod among the peers that has the port under that name.
 * Networks match pods inside them; nodes have no container ports (N30, C29).
 */
export function namedPeerMatches(rules: readonly SourcedRule[], builder: Builder): PeerMatch[] {
  const pods: Labelled<NamedPortPeer>[] = [];
  const inNetworks: PeerMatch[] = [];
  for (const { rule, label } of rules) {
    for (const port of rule.ports === 'any' ? [] : rule.ports) {
      if (port.kind !== 'named') continue;
      const named = (selector: NamedPortPeer['selector']): NamedPortPeer => ({
        selector,
        port: port.name,
        ...(port.protocol !== undefined && { protocol: port.protocol }),
      });
      for (const peer of rule.peers === 'any' ? ['any' as const] : rule.peers) {
        if (peer === 'any') pods.push({ label, peer: named(EVERY_POD) });
        else if (peer.kind === 'pods') pods.push({ label, peer: named(peer.selector) });
        else if (peer.kind === 'network' && peer.cidr.family === builder.family) {
          const set = builder.group({ kind: 'named', peers: [named(EVERY_POD)] });
          inNetworks.push({
            match: [...networkMatch(peer, 'daddr'), ...lookUp(set, builder)],
            labels: [label],
          });
        }
      }
    }
  }
  const groups = groupMatches(pods, peers => ({ kind: 'named', peers }), builder);
  return [...groups.map(({ set, labels }) => ({ match: lookUp(set, builder), labels })), ...inNetworks];
}

const EVERY_POD = { namespaces: EVERY_NAMESPACE, pods: EVERYTHING };

function lookUp(set: string, { family }: Builder): Expr[] {
  return addressProtocolPortIn(family, 'daddr', set);
}
