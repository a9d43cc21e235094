/** What audited policies would decide for a connection, compared with the policies in force. */

import type { Pod } from '../model/cluster.ts';
import type { Flow } from '../model/flow.ts';
import { comparePolicies, type Direction, type Policy, type Tier } from '../model/policy.ts';
import { evaluatorOf, type FlowVerdict } from './evaluate.ts';
import { asSeenBy, policiesAmong, type View } from './view.ts';

/**
 * The view as it would be if these policies were in force too. Everything else is read from `view`, which may change.
 */
export function viewWith(view: View, added: readonly Policy[]): View {
  const policiesOn = (pod: Pod, direction: Direction, tier: Tier): readonly Policy[] => {
    const more = policiesAmong(added, view.cluster, pod, direction, tier);
    const inForce = view.policiesOn(pod, direction, tier);
    return more.length === 0 ? inForce : [...inForce, ...more].sort(comparePolicies);
  };
  return {
    // A getter, because a view that follows events may move on to another cluster object.
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
    tunnelNodeAt: address => view.tunnelNodeAt(address),
    nodesAt: address => view.nodesAt(address),
    policiesOn,
  };
}

export interface Audit {
  readonly now: FlowVerdict;
  /** The verdict of the policies in force. */
  readonly enforced: FlowVerdict;
}

/** Judges many connections of one cluster. */
export function auditor(view: View, added: readonly Policy[]): (flow: Flow) => Audit {
  const [now, enforced] = [evaluatorOf(view), evaluatorOf(viewWith(view, added))];
  return flow => ({ now: now(flow), enforced: enforced(flow) });
}

/** Whether the policy may affect the connection: it selects one of its ends, or it is not known whether it does. */
export function mayAffect(view: View, policy: Policy, { from, to }: Flow): boolean {
  return [view.owners.get(from), view.owners.get(to)].some(
    pod => pod !== undefined && asSeenBy(pod, policy, view.cluster).length > 0,
  );
}
