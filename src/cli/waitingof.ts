/** What waits for its turn, as the agent tells it. */
import type { WaitingWork } from '../api/health/agentchecks.ts';
import type { StatusResponse } from '../api/rpc/messages.ts';

export function waitingOf(status: StatusResponse): WaitingWork {
  return {
    waitingPods: status.waiting_pods,
    waitingMs: status.waiting_ms,
    waitingPodNames: status.waiting_pod_names,
    waitingPolicies: status.waiting_policies,
    waitingPoliciesMs: status.waiting_policies_ms,
    waitingPolicyNames: status.waiting_policy_names,
  };
}
