/** What every service and the metrics show of the agent. The composition root fills it in. */
import type { ProgrammedPod, StatusKeeper } from '../agent/status.ts';
import type { Health } from '../health/health.ts';
import type { PodKey } from '../model/cluster.ts';

export interface AgentView {
  readonly keeper: StatusKeeper;
  health(): Promise<Health>;
  pod(key: PodKey): ProgrammedPod | undefined;
  /** Labels of the policies that select the pod. */
  policiesOf(key: PodKey): readonly string[];
  requestResync(): void;
}
