import type { Rule } from '../../../model/policy.ts';
import type { PodIndex } from '../pods/podindex.ts';

/** How many pods and namespaces are looked at for the peers of these rules; no further than to `most`. */
export function countAskedBy(rules: Iterable<Rule>, podIndex: PodIndex, most: number): number {
  let asked = 0;
  for (const { peers } of rules)
    for (const peer of peers === 'any' ? [] : peers)
      if (peer.kind === 'pods') asked += podIndex.countAsked(peer.selector, most - asked);
  return asked;
}
