/** What policies that are not in force would make of a connection, beside those that are. */

import type { Pod } from '../model/cluster.ts';
import type { Flow } from '../model/flow.ts';
import { comparePolicies, type Direction, type Policy, type Tier } from '../model/policy.ts';
import { evaluatorOf, type FlowVerdict } from './evaluate.ts';
import { asSeenBy, policiesAmong, type View } from './view.ts';

/** The view as it would be with these policies in force too; looks everything else up in `view`, as that changes. */
export function viewWith(view: View, added: readonly Policy[]): View {
  const policiesOn = (pod: Pod, direction: Direction, tier: Tier): readonly Policy[] => {
    const more = policiesAmong(added, view.cluster, pod, direction, tier);
    const inForce = view.policiesOn(pod, direction, tier);
    return more.length === 0 ? inForce : [...inForce, ...more].sort(comparePolicies);
  };
  return {
    // Asked anew each time: a view that follows events may come to another cluster.
    get cluster() {
      return view.cluster;
    },
    get owners() {
      return view.owners;
    },
    nodeDenyingUnknownPod: address => view.nodeDenyingUnknownPod(address),
    nodeOfUnknownPod: address => view.nodeOfUnknownPod(address),
    nodeWith: address => view.nodeWith(address),
    get tunnels() {
      return view.tunnels;
    },
    policiesOn,
  };
}

export interface Audit {
  readonly now: FlowVerdict;
  /** With the policies in force. */
  readonly enforced: FlowVerdict;
}

/** Of many connections of one cluster. */
export function auditor(view: View, added: readonly Policy[]): (flow: Flow) => Audit {
  const [now, enforced] = [evaluatorOf(view), evaluatorOf(viewWith(view, added))];
  return flow => ({ now: now(flow), enforced: enforced(flow) });
}

/** Whether the policy may have a word on the connection: it selects one of its ends, or nobody knows. */
export function concerns(view: View, policy: Policy, { from, to }: Flow): boolean {
  return [view.owners.get(from), view.owners.get(to)].some(
    pod => pod !== undefined && asSeenBy(pod, policy, view.cluster).length > 0,
  );
}
