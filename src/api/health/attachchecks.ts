/** Checks of what a node needs whose pods we attach ourselves. */

import type { Ours } from '../../kernel/host/facts.ts';
import { firstOf } from '../../lib/text/firstof.ts';
import { type Check, finding } from './check.ts';

const ANOTHERS = 'another plugin attaches the pods';
const MOST_NAMED = 3;

export function podAddresses({ attached }: Ours): Check {
  const name = 'pod-addresses';
  if (attached === undefined) return finding.ok(name, ANOTHERS);
  if (attached.refuses === undefined) return finding.ok(name, 'there are free addresses for pods');
  return finding.fail(
    name,
    `${attached.refuses}: further pods must wait, running ones stay as they are`,
    'delete a pod of this node, or give the node a pod CIDR that is large enough',
  );
}

/** Others may lead there: a router, or routes that somebody made. So it is no failure. */
export function nodeRoutes({ attached }: Ours): Check {
  const name = 'node-routes';
  if (attached === undefined) return finding.ok(name, ANOTHERS);
  const { unreachable } = attached;
  if (unreachable.length === 0) return finding.ok(name, 'every node with pods is on a link of this node');
  return finding.warn(
    name,
    `no link leads to ${firstOf(unreachable, MOST_NAMED)}`,
    'Sluice builds no overlay: have the router between the nodes lead there, or use a network plugin that tunnels, such as Flannel',
  );
}
