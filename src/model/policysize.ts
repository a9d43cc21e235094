/** The size of a policy: what reading, compiling and storing it costs grows with it. */
import { DIRECTIONS, type Peer, type Policy, type Rule } from './policy.ts';
import type { LabelSelector } from './selector.ts';

/**
 * Rules, peers, exceptions, ports, and the requirements of selectors with their values, in both directions. IPv6
 * networks count twice.
 */
export function countEntries(policy: Policy): number {
  return DIRECTIONS.reduce((sum, direction) => sum + countEntriesOf(policy[direction] ?? []), 0);
}

/** Matching this many pods against peers costs as much as compiling one entry. */
export const PODS_PER_ENTRY = 20;

const counts = new WeakMap<readonly Rule[], number>();

/** The number of entries in the rules of one direction. */
export function countEntriesOf(rules: readonly Rule[]): number {
  const known = counts.get(rules);
  if (known !== undefined) return known;
  let count = 0;
  for (const { peers, ports } of rules) {
    count += 1 + (ports === 'any' ? 0 : ports.length);
    for (const peer of peers === 'any' ? [] : peers) count += countEntriesOfPeer(peer);
  }
  counts.set(rules, count);
  return count;
}

function countEntriesOfPeer(peer: Peer): number {
  switch (peer.kind) {
    case 'pods': {
      const { namespaces, pods } = peer.selector;
      return 1 + countValues(pods) + (namespaces.kind === 'name' ? 0 : countValues(namespaces.selector));
    }
    case 'nodes':
      return 1 + countValues(peer.selector);
    case 'network':
      // The text of an IPv6 network is up to four times as long.
      return (peer.cidr.family === 'ip' ? 1 : 2) * (1 + peer.except.length);
    case 'domain':
      return 1;
  }
}

function countValues({ requirements }: LabelSelector): number {
  return requirements.reduce((sum, { values }) => sum + 1 + values.length, 0);
}
