/** Says in the log that memory is short before the agent is ended for it: nothing can be said after that. */
import type { Log } from '../agent/log.ts';
import { memory, objectsThatFit } from '../api/health/memorycheck.ts';
import type { MemoryLimits } from '../kernel/host/memory.ts';
import type { Cluster } from '../model/cluster.ts';

/**
 * Call it whenever the cluster has changed. It warns once, and again after the cluster had a tenth less than is enough
 * meanwhile: at the limit itself pods come and go, and each would be a line.
 */
export function memoryWarning(limits: MemoryLimits, log: Pick<Log, 'warn'>): (cluster: Cluster) => void {
  let isShort = false;
  /** The cluster at the last check, and how many objects more it may have had without a warning. */
  let last = { pods: 0, policies: 0, fit: 0 };
  return ({ pods, policies }) => {
    const added = Math.max(0, pods.size - last.pods) + Math.max(0, policies.size - last.policies);
    if (!isShort && added < last.fit) return; // no event can make it short: nothing is computed
    const facts = { ...limits, pods: pods.size, policies: policies.size };
    const { state, reason, remedy } = memory(facts);
    if (state === 'warn' && !isShort) log.warn({}, `${reason}; ${remedy}`);
    isShort = state === 'warn' || (isShort && memory(tenthMore(facts)).state === 'warn');
    last = { pods: pods.size, policies: policies.size, fit: objectsThatFit(facts) };
  };
}

function tenthMore<F extends { readonly pods: number; readonly policies: number }>(facts: F): F {
  return { ...facts, pods: Math.ceil(facts.pods * 1.1), policies: Math.ceil(facts.policies * 1.1) };
}
