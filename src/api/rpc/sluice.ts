/** sluice.v1.Sluice: status and state of the agent, for the command. */
import type { ServerWritableStream, UntypedServiceImplementation } from '@grpc/grpc-js';
import { getOrMake } from '../../lib/collections/getormake.ts';
import { firstOfEach } from '../../lib/fairness/firstofeach.ts';
import type { ClusterEvent, Namespace, Pod, PodKey } from '../../model/cluster.ts';
import { clusterEvents } from '../../model/clusterevents.ts';
import type { CountedFlow } from '../../model/countedflows.ts';
import { firstProblems } from '../../model/firstproblems.ts';
import { namespaceOfPolicy, type PolicyId } from '../../model/policy.ts';
import { type PolicyStatus, statusText } from '../../model/policystatus.ts';
import { type Problem, problemText } from '../../model/problem.ts';
import type { DnsCache } from '../../names/dnscache.ts';
import { encodeRecord } from './dnsrecord.ts';
import type {
  DropsRequest,
  DropsResponse,
  FlowsResponse,
  OpenConnections,
  StateObject,
  StatusResponse,
  ToldName,
} from './messages.ts';
import { sendDrops, sendFlows } from './streams.ts';
import { refusalOf, unary } from './unary.ts';
import type { AgentView } from './view.ts';

interface NamesRequest {
  /** Empty: all that holds now. */
  readonly address: string;
}

export function sluiceService(view: AgentView): UntypedServiceImplementation {
  return {
    Status: unary(() => statusMessage(view)),
    State: (call: ServerWritableStream<object, StateObject>) => void send(call, stateObjects(view)),
    Names: (call: ServerWritableStream<NamesRequest, ToldName>) => void sendNames(call, view),
    Drops: (call: ServerWritableStream<DropsRequest, DropsResponse>) => void sendDrops(call, view),
    Flows: (call: ServerWritableStream<object, FlowsResponse>) => sendFlows(call, view),
    Connections: (call: ServerWritableStream<object, OpenConnections>) => void sendConnections(call, view),
  };
}

/** The message for `sluice status`. */
export async function statusMessage(view: AgentView): Promise<StatusResponse> {
  const { ready, checks } = await view.health();
  const state = view.status.status();
  return {
    node: state.node,
    ready,
    synced: state.synced,
    started_at_ms: state.startedAtMs,
    equal_at_ms: state.equalAtMs ?? 0,
    last_event_at_ms: state.lastEventAtMs ?? 0,
    pending_events: state.pending,
    lag_ms: state.lagMs,
    waiting_pods: state.waitingPods,
    waiting_ms: state.waitingMs,
    waiting_pod_names: state.waitingPodNames,
    waiting_policies: state.waitingPolicies,
    waiting_policies_ms: state.waitingPoliciesMs,
    waiting_policy_names: state.waitingPolicyNames,
    policies: firstStatuses(state.policies).map(statusText),
    policies_in_all: state.policies.length,
    checks: [...checks],
    commits: state.commits.map(({ atMs, operations, tookMs, names, repairs }) => ({
      at_ms: atMs,
      operations,
      took_ms: tookMs,
      names: [...names],
      repairs,
    })),
    problems: problemMessages(state.problems),
    objects: state.objects,
    totals: state.totals,
    network_namespace: view.identity.networkNamespace,
    cuts_connections: view.identity.cutsConnections,
    denies_unknown_pods: view.gate.status().unknownPods === 'deny',
  };
}

/** Each policy in quarantine has a problem. */
function problemMessages(problems: readonly Problem[]): StatusResponse['problems'] {
  const shown = firstProblems(problems).map(problem => ({
    severity: problem.severity,
    object: problem.object ?? problem.file ?? '',
    text: problemText(problem),
  }));
  const more = problems.length - shown.length;
  if (more === 0) return shown;
  return [...shown, { severity: 'error', object: '', text: `there are ${more} further problems` }];
}

const MOST_POLICIES = 500;

/** A tenant may have thousands of policies; each kind, and each namespace in it, is seen. */
function firstStatuses(statuses: readonly PolicyStatus[]): readonly PolicyStatus[] {
  if (statuses.length <= MOST_POLICIES) return statuses;
  const byKind = Map.groupBy(statuses, ({ kind }) => kind).values();
  const inTurn = Array.from(byKind, its => {
    const namespaces = Map.groupBy(its, ({ id }) => namespaceOfPolicy(id)).values();
    return firstOfEach([...namespaces], MOST_POLICIES);
  });
  const chosen = new Set(firstOfEach(inTurn, MOST_POLICIES));
  return statuses.filter(status => chosen.has(status));
}

async function sendConnections(
  call: ServerWritableStream<object, OpenConnections>,
  view: AgentView,
): Promise<void> {
  try {
    const found = await view.openConnections();
    await send(call, found.map(openConnections));
  } catch (error) {
    call.destroy(refusalOf(error));
  }
}

function openConnections({ flow, count }: CountedFlow): OpenConnections {
  const { from, to, protocol, port = 0, viaService = false } = flow;
  return { from, to, protocol: String(protocol), port, via_service: viaService, count };
}

/** As fast as the caller reads: a cluster of 15,000 pods is never in the stream's buffer at once. */
async function send<T>(call: ServerWritableStream<object, T>, objects: Iterable<T>): Promise<void> {
  for (const object of objects) {
    if (call.cancelled) break;
    if (!call.write(object)) await drained(call);
  }
  call.end();
}

/** The state of one moment, however slowly the caller reads it. */
function stateObjects({ status, agent }: AgentView): Iterable<StateObject> {
  const events = clusterEvents(status.cluster);
  const inForce = agent.podsInForce;
  const gone = [...inForce.keys()].filter(key => !status.cluster.pods.has(key));
  const statuses = Map.groupBy(status.status().policies, ({ id }) => id);
  const { policies, audited } = status.cluster;
  const coming = [...statuses.keys()].filter(id => !policies.has(id) && !audited?.has(id));
  const others = [
    ...gone.map(key => ({ type: 'pod', key }) as const),
    ...coming.map(key => ({ type: 'policy', key }) as const),
  ];
  return objectsOf([...events, ...others], inForce, statuses);
}

function* objectsOf(
  events: readonly ClusterEvent[],
  inForce: ReadonlyMap<PodKey, Pod | undefined>,
  statuses: ReadonlyMap<PolicyId, readonly PolicyStatus[]>,
): Generator<StateObject> {
  const namespaces = new Map<Namespace, number>();
  for (const { type, key, value } of events) {
    const its = type === 'policy' ? statuses.get(key) : undefined;
    const object = { type, key, json: jsonOf(value), ...(its && { statuses: its.map(statusText) }) };
    const isAhead = type === 'pod' && inForce.has(key);
    yield isAhead ? { ...object, ...asInForce(inForce.get(key), namespaces) } : object;
  }
}

/** A namespace has as many labels as it likes, and very many pods: of all that wait it is sent once. */
function asInForce(pod: Pod | undefined, sent: Map<Namespace, number>): Partial<StateObject> {
  if (pod?.namespaceInForce === undefined) return { in_force: jsonOf(pod) };
  const { namespaceInForce, ...rest } = pod;
  const isNew = !sent.has(namespaceInForce);
  const number = getOrMake(sent, namespaceInForce, () => sent.size + 1);
  return {
    in_force: jsonOf(rest),
    namespace_before: number,
    ...(isNew && { namespace_json: jsonOf(namespaceInForce) }),
  };
}

function jsonOf(value: object | undefined): string {
  return JSON.stringify(value ?? null);
}

async function sendNames(call: ServerWritableStream<NamesRequest, ToldName>, view: AgentView): Promise<void> {
  await send(call, recordsFor(await view.dns.latest(), call.request.address));
}

function* recordsFor(cache: DnsCache | undefined, address: string): Generator<ToldName> {
  const nowMs = Date.now();
  for (const record of cache?.all() ?? [])
    if (address === '' ? record.untilMs > nowMs : record.address === address) yield encodeRecord(record);
}

function drained<T>(call: ServerWritableStream<object, T>): Promise<void> {
  return new Promise(resolve => {
    const events = ['drain', 'cancelled', 'close'] as const;
    const done = () => {
      for (const event of events) call.off(event, done);
      resolve();
    };
    for (const event of events) call.once(event, done);
  });
}
