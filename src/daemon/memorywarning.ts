/** Says in the log that memory is short before the agent is ended for it: nothing can be said after that. */
import type { Log } from '../agent/log.ts';
import { memory } from '../api/health/memorycheck.ts';
import type { MemoryLimits } from '../kernel/host/memory.ts';
import type { Cluster } from '../model/cluster.ts';

/** Call it whenever the cluster has changed. It warns once, and again after the cluster was small enough meanwhile. */
export function memoryWarning(limits: MemoryLimits, log: Pick<Log, 'warn'>): (cluster: Cluster) => void {
  let isShort = false;
  return ({ pods, policies }) => {
    const { state, reason, remedy } = memory({ ...limits, pods: pods.size, policies: policies.size });
    if (state === 'warn' && !isShort) log.warn({}, `${reason}; ${remedy}`);
    isShort = state === 'warn';
  };
}
