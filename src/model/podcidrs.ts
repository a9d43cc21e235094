/**
 * The networks that a node gives to its pods, and how packets of addresses in them that no known pod has are treated.
 */

import { getOrMake } from '../lib/collections/getormake.ts';
import { type Cidr, parseCidr } from './address.ts';
import type { Node } from './cluster.ts';

/** How a node treats packets of an address in its pod networks that no known pod has. */
export type UnknownPods = 'deny' | 'allow';

/** Cached by node object, which never changes: thousands of nodes are looked up again and again. */
const PARSED = new WeakMap<Node, readonly Cidr[]>();

/** The networks of `spec.podCIDRs`; other text in it is ignored. */
export function podCidrsOf(node: Node | undefined): readonly Cidr[] {
  if (node === undefined) return [];
  return getOrMake(PARSED, node, () => node.podCidrs.map(parseCidr).filter(cidr => cidr !== undefined));
}
