/** How much a policy says: what it costs to read, to compile and to keep grows with it. */
import { DIRECTIONS, type Peer, type Policy, type Rule } from './policy.ts';
import type { LabelSelector } from './selector.ts';

/**
 * Rules, peers, exceptions, ports, and the requirements of selectors with their values, in both directions. Networks
 * of IPv6 count twice.
 */
export function countEntries(policy: Policy): number {
  return DIRECTIONS.reduce((sum, direction) => sum + countEntriesOf(policy[direction] ?? []), 0);
}

/** To ask so many pods whether they are peers costs as much as to make an entry's rules. */
export const ASKED_AS_ENTRY = 20;

const counts = new WeakMap<readonly Rule[], number>();

/** The same of one direction. */
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
      // Both ends of a network of IPv6 are four times as long.
      return (peer.cidr.family === 'ip' ? 1 : 2) * (1 + peer.except.length);
    case 'domain':
      return 1;
  }
}

function countValues({ requirements }: LabelSelector): number {
  return requirements.reduce((sum, { values }) => sum + 1 + values.length, 0);
}
