/**
 * Named ports in egress rules: a destination matches if it is a pod of the peers and has a port of that name. Networks
 * and domain names stand for the pods among their addresses; nodes have no container ports (N30, C29).
 */
import { contentText } from '../lib/text/contenttext.ts';
import { domainPeersOf, type Peer } from '../model/policy.ts';
import type { NamedPort } from '../model/ports.ts';
import { addressProtocolPortIn } from '../nft/match.ts';
import type { Builder } from './builder.ts';
import { EVERY_POD } from './group.ts';
import {
  distinctBy,
  type LabelledPeer,
  type LabelledPeers,
  type PeerMatch,
  type SourcedRule,
} from './labelled.ts';
import type { NamedPortPeers } from './namedportpeers.ts';
import { asFewGroups, namesMatches } from './peers.ts';

/** The matches of those rules that have named ports. */
export function namedPeerMatches(rules: readonly SourcedRule[], builder: Builder): PeerMatch[] {
  const withNames = rules.flatMap(({ rule: { peers, ports }, label }): RuleOfNames[] => {
    const named = ports === 'any' ? [] : ports.filter((port): port is NamedPort => port.kind === 'named');
    return named.length === 0 ? [] : [{ label, peers, named }];
  });
  return [...memberMatches(withNames, builder), ...domainMatches(withNames, builder)];
}

interface RuleOfNames extends LabelledPeers {
  readonly named: readonly NamedPort[];
}

/** One look-up of `address . protocol . port` for each distinct rule if they are few, else one for all of them. */
function memberMatches(rules: readonly RuleOfNames[], builder: Builder): PeerMatch[] {
  const entries = rules.flatMap(({ label, peers, named }): LabelledPeer<NamedPortPeers>[] => {
    const peer = peersOf(peers, named);
    return peer === undefined ? [] : [{ label, peer }];
  });
  return asFewGroups(entries, peers => builder.group({ kind: 'named', peers })).map(({ set, labels }) => ({
    match: addressProtocolPortIn(builder.family, 'daddr', set),
    labels,
  }));
}

/** Matches an address that the pod got in an answer for one of the names, if a pod with such a port has it. */
function domainMatches(rules: readonly RuleOfNames[], builder: Builder): PeerMatch[] {
  return rules.flatMap(({ label, peers, named }) => {
    const labelled = domainPeersOf(peers).map(peer => ({ label, peer }));
    const told = namesMatches(labelled, builder);
    if (told.length === 0) return [];
    const set = builder.group({ kind: 'named', peers: [peersOf('any', named)!] });
    const ofPods = addressProtocolPortIn(builder.family, 'daddr', set);
    return told.map(({ match, labels }) => ({ match: [...match, ...ofPods], labels }));
  });
}

function peersOf(peers: 'any' | readonly Peer[], named: readonly NamedPort[]): NamedPortPeers | undefined {
  const found = peers === 'any' ? [] : distinctBy(peers, contentText);
  const selectors = found.flatMap(peer => (peer.kind === 'pods' ? [peer.selector] : []));
  const networks = found.filter(peer => peer.kind === 'network');
  if (peers !== 'any' && selectors.length + networks.length === 0) return undefined;
  const ports = distinctBy(named, contentText).map(({ name, protocol }) => ({
    name,
    ...(protocol !== undefined && { protocol }),
  }));
  return { selectors: peers === 'any' ? [EVERY_POD] : selectors, networks, ports };
}
