/** Which policies of a namespace are refused where there is no room for what all of them need. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { type Policy, type PolicyId, type Rule, rulesOf } from '../../model/policy.ts';
import { type PodSelector, podSelectorText } from '../../model/selector.ts';
import { EVERY_POD } from '../broadpeers.ts';
import type { PodIndex } from './pods/podindex.ts';

/** A quarter of what is asked at a time: most of those that are left may have room. */
const AT_A_TIME = 1 / 4;

interface Sized {
  readonly policy: Policy;
  /** How many pods it asks for: no more than a good guess at the members that it needs. */
  readonly asks: number;
}

/**
 * Of those that ask for pods, the ones that have changed, or where none has, all: the largest of them, at least one; none
 * where no policy asks.
 */
export function largestOf(
  policies: readonly Policy[],
  changed: ReadonlySet<PolicyId>,
  podIndex: PodIndex,
): Policy[] {
  const asking = sized(policies, podIndex).filter(({ asks }) => asks > 0);
  const fresh = asking.filter(({ policy }) => changed.has(policy.id));
  const inOrder = (fresh.length > 0 ? fresh : asking).sort(
    (a, b) => b.asks - a.asks || (a.policy.id < b.policy.id ? -1 : 1),
  );
  const enough = AT_A_TIME * inOrder.reduce((sum, { asks }) => sum + asks, 0);
  let chosen = 0;
  const isChosen = ({ asks }: Sized) => {
    chosen += asks;
    return chosen - asks < enough;
  };
  return inOrder.filter(isChosen).map(({ policy }) => policy);
}

function sized(policies: readonly Policy[], podIndex: PodIndex): Sized[] {
  const asked = new Map<string, number>();
  const asksOf = (selector: PodSelector) =>
    getOrMake(asked, podSelectorText(selector), () =>
      podIndex.countAsked(selector, Number.POSITIVE_INFINITY),
    );
  return policies.map(policy => {
    const selectors = rulesOf(policy).flatMap(selectorsOf);
    return { policy, asks: selectors.reduce((sum, selector) => sum + asksOf(selector), 0) };
  });
}

/** Named ports of whoever it may be are those of all pods. */
function selectorsOf({ peers, ports }: Rule): readonly PodSelector[] {
  const hasNames = ports !== 'any' && ports.some(({ kind }) => kind === 'named');
  if (peers === 'any') return hasNames ? [EVERY_POD] : [];
  return peers.flatMap(peer => {
    if (peer.kind === 'pods') return [peer.selector];
    return hasNames ? [EVERY_POD] : [];
  });
}
