/**
 * Egress to named ports: a destination matches if it is a pod among the peers that has the port under that name.
 * Networks match pods inside them; nodes have no container ports (N30, C29).
 */
import type { Peer } from '../model/policy.ts';
import type { NamedPort } from '../model/ports.ts';
import { addressProtocolPortIn } from '../nft/match.ts';
import { EVERY_POD } from './broadpeers.ts';
import type { Builder } from './builder.ts';
import { distinctBy, type Labelled, type PeerMatch, type SourcedRule, textOf } from './labelled.ts';
import type { NamedPortPeers } from './namedportpeers.ts';
import { asFewGroups } from './peers.ts';

/** One look-up of `address . protocol . port` for each distinct rule while they are few, else one for all of them. */
export function namedPeerMatches(rules: readonly SourcedRule[], builder: Builder): PeerMatch[] {
  const entries = rules.flatMap(({ rule: { peers, ports }, label }): Labelled<NamedPortPeers>[] => {
    const named = ports === 'any' ? [] : ports.filter((port): port is NamedPort => port.kind === 'named');
    const peer = named.length === 0 ? undefined : peersOf(peers, named);
    return peer === undefined ? [] : [{ label, peer }];
  });
  return asFewGroups(entries, peers => builder.group({ kind: 'named', peers })).map(({ set, labels }) => ({
    match: addressProtocolPortIn(builder.family, 'daddr', set),
    labels,
  }));
}

function peersOf(peers: 'any' | readonly Peer[], named: readonly NamedPort[]): NamedPortPeers | undefined {
  const found = peers === 'any' ? [] : distinctBy(peers, textOf);
  const selectors = found.flatMap(peer => (peer.kind === 'pods' ? [peer.selector] : []));
  const networks = found.filter(peer => peer.kind === 'network');
  if (peers !== 'any' && selectors.length + networks.length === 0) return undefined;
  const ports = distinctBy(named, textOf).map(({ name, protocol }) => ({
    name,
    ...(protocol !== undefined && { protocol }),
  }));
  return { selectors: peers === 'any' ? [EVERY_POD] : selectors, networks, ports };
}
