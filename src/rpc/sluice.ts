/** sluice.v1.Sluice: status and state of the agent, for the command. */
import type { ServerWritableStream, UntypedServiceImplementation } from '@grpc/grpc-js';
import { replay } from '../agent/replay.ts';
import { problemText } from '../model/problem.ts';
import type { StateObject, StatusResponse } from './messages.ts';
import { unary } from './unary.ts';
import type { AgentView } from './view.ts';

export function sluiceService(view: AgentView): UntypedServiceImplementation {
  return {
    Status: unary(() => statusOf(view)),
    State: (call: ServerWritableStream<object, StateObject>) => void sendState(call, view),
  };
}

async function statusOf(view: AgentView): Promise<StatusResponse> {
  const { ready, checks } = await view.health();
  const state = view.keeper.status();
  return {
    node: state.node,
    ready,
    synced: state.synced,
    started_at_ms: state.startedAtMs,
    equal_at_ms: state.equalAtMs ?? 0,
    last_event_at_ms: state.lastEventAtMs ?? 0,
    pending_events: state.pending,
    lag_ms: state.lagMs,
    checks: [...checks],
    commits: state.commits.map(({ atMs, operations, tookMs, names }) => ({
      at_ms: atMs,
      operations,
      took_ms: tookMs,
      names: [...names],
    })),
    problems: state.problems.map(problem => ({
      severity: problem.severity,
      object: problem.object ?? problem.file ?? '',
      text: problemText(problem),
    })),
    objects: state.objects,
    totals: state.totals,
    network_namespace: view.identity.networkNamespace,
    cuts_connections: view.identity.cutsConnections,
    denies_unknown_pods: view.starts().unknownPods === 'deny',
  };
}

/** As fast as the caller reads: a cluster of 15,000 pods is never in the stream's buffer at once. */
async function sendState(call: ServerWritableStream<object, StateObject>, view: AgentView): Promise<void> {
  for (const { type, key, value } of replay(view.keeper.cluster)) {
    if (call.cancelled) break;
    if (!call.write({ type, key, json: JSON.stringify(value) })) await drained(call);
  }
  call.end();
}

function drained(call: ServerWritableStream<object, StateObject>): Promise<void> {
  return new Promise(resolve => {
    const events = ['drain', 'cancelled', 'close'] as const;
    const done = () => {
      for (const event of events) call.off(event, done);
      resolve();
    };
    for (const event of events) call.once(event, done);
  });
}
