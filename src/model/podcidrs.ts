/** The networks that a node gives to its pods, and what becomes of addresses in them that no known pod has. */

import { getOrMake } from '../lib/collections/getormake.ts';
import { type Cidr, parseCidr } from './address.ts';
import type { Node } from './cluster.ts';

/** What becomes of an address of this node's pod networks that no known pod has. */
export type UnknownPods = 'deny' | 'allow';

/** Objects never change, and thousands of nodes are asked again and again. */
const PARSED = new WeakMap<Node, readonly Cidr[]>();

/** `spec.podCIDRs`, those of them that are networks. */
export function podCidrsOf(node: Node | undefined): readonly Cidr[] {
  if (node === undefined) return [];
  return getOrMake(PARSED, node, () => node.podCidrs.map(parseCidr).filter(cidr => cidr !== undefined));
}
