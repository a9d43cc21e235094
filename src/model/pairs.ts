/**
 * A rule applies to every pair of one of its ports and one of its peers. Rules that are looked up together by port are
 * compiled to such pairs; a rule by itself is not, because all its ports have the same peers.
 */
import type { Peer } from './policy.ts';
import { countPorts, type MergedPorts } from './ports.ts';

/** If rules have more pairs together, those with many pairs are each looked up by themselves. */
export const MOST_PAIRS = 20_000;
export const MANY_PAIRS = 256;

interface PairedRule {
  readonly peers: 'any' | readonly Peer[];
  readonly ports: 'any' | MergedPorts;
}

export function hasManyPairs(rule: PairedRule): boolean {
  return countPairs(rule) > MANY_PAIRS;
}

export function countPairs({ ports, peers }: PairedRule): number {
  return (ports === 'any' ? 1 : countPorts(ports)) * (peers === 'any' ? 1 : countPeers(peers));
}

/** A network counts once for itself and once for each exception. */
function countPeers(peers: readonly Peer[]): number {
  return peers.reduce((sum, peer) => sum + 1 + (peer.kind === 'network' ? peer.except.length : 0), 0);
}
