/** The cluster as the node's agent sees it, now or in a dump. */

import type { AgentClient } from '../../api/rpc/client.ts';
import type { StateObject, StatusResponse } from '../../api/rpc/messages.ts';
import { ownAddresses, ownNetworkNamespace } from '../../kernel/host/read.ts';
import type { Address } from '../../model/address.ts';
import { type Cluster, type ClusterEvent, ClusterState, type Namespace } from '../../model/cluster.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { StatusText } from '../../model/policystatus.ts';
import { DnsCache, type DnsRecord, type DnsSnapshot } from '../../names/dnscache.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { askAgent } from './askagent.ts';
import { readText } from './files.ts';

export interface KnownCluster {
  /** The agent's cluster, with the DNS answers of its pods. */
  readonly cluster: Cluster;
  readonly unknownPods: UnknownPods;
  readonly known: DnsSnapshot;
  /** The statuses of policies that are not in force as written. */
  readonly statuses: readonly StatusText[];
}

/**
 * `addresses`: their earlier DNS records are read, too. Throws CommandError if no agent answers, or if it has not read
 * its cluster yet.
 */
export function readAgent(socket: string, addresses: readonly Address[] = []): Promise<KnownCluster> {
  return askAgent(socket, async agent => {
    const { denies_unknown_pods, network_namespace, node } = await agent.status();
    await mustHaveRead(agent);
    const state = await agent.state();
    const cluster = clusterFrom(state);
    if (network_namespace === (await ownNetworkNamespace())) addInterfaces(cluster, node);
    const known = { ...(await knownOf(agent, addresses)), node };
    const unknownPods = unknownPodsOf(denies_unknown_pods);
    return { ...withKnown(cluster, known), unknownPods, statuses: statusesIn(state) };
  });
}

export async function readDumped(file: string): Promise<KnownCluster> {
  const { at, status, state, names = [] } = await readDump(file);
  const known = { ...knownFrom(names, Date.parse(at)), node: status.node };
  const unknownPods = unknownPodsOf(status.denies_unknown_pods);
  return { ...withKnown(clusterFrom(state), known), unknownPods, statuses: statusesIn(state) };
}

function statusesIn(state: readonly StateObject[]): readonly StatusText[] {
  return state.flatMap(({ statuses = [] }) => statuses);
}

/** The DNS records that hold now, and for these addresses also those that have ended. */
export async function knownOf(agent: AgentClient, addresses: readonly Address[] = []): Promise<DnsSnapshot> {
  const held = await Promise.all(addresses.map(address => agent.names(address)));
  return knownFrom([...held.flat(), ...(await agent.names())], Date.now());
}

function knownFrom(records: readonly DnsRecord[], nowMs: number): DnsSnapshot {
  const cache = new DnsCache();
  cache.record(records);
  return { cache, nowMs };
}

/** `known.node` is the node whose agent reports it. */
export function withKnown(cluster: ClusterState, known: DnsSnapshot & { readonly node: string }) {
  const resolved = known.cache.asOf(known.nowMs);
  return { cluster: { ...cluster, resolved, seenBy: known.node }, known };
}

export function unknownPodsOf(denied: boolean): UnknownPods {
  return denied ? 'deny' : 'allow';
}

/**
 * Addresses of the interfaces of this network namespace are the node itself, also the address that a bridge has in the
 * pod network.
 */
export function addInterfaces(cluster: ClusterState, name: string): void {
  const node = cluster.nodes.get(name);
  if (node === undefined) return;
  const interfaceAddresses = [...new Set([...(node.interfaceAddresses ?? []), ...ownAddresses()])];
  cluster.apply({ type: 'node', key: name, value: { ...node, interfaceAddresses } });
}

/** Problems are in the agent's log already. */
export async function clusterOf(agent: AgentClient): Promise<ClusterState> {
  await mustHaveRead(agent);
  return clusterFrom(await agent.state());
}

async function mustHaveRead(agent: AgentClient): Promise<void> {
  const { equal_at_ms } = await agent.status();
  if (equal_at_ms === 0) throw new Error('it has not read its cluster yet (sluice status says why)');
}

function clusterFrom(
  state: readonly StateObject[],
  event: (object: StateObject) => ClusterEvent = eventOf,
): ClusterState {
  const cluster = new ClusterState();
  for (const object of state) cluster.apply(event(object));
  return cluster;
}

function eventOf({ type, key, json }: StateObject, namespaceInForce?: Namespace): ClusterEvent {
  const object = JSON.parse(json) ?? undefined;
  const value = object && namespaceInForce ? { ...object, namespaceInForce } : object;
  return { type, key, value } as ClusterEvent;
}

/** As the rules in force have it of this pod, where the cluster has another; `known` are those that came before. */
function namespaceInForceOf(
  { namespace_before: number, namespace_json: json }: StateObject,
  known: Map<number, Namespace>,
): Namespace | undefined {
  if (!number) return undefined;
  if (json) known.set(number, JSON.parse(json));
  return known.get(number);
}

/**
 * The cluster from which the rules in force were made: pods with changes that are not in force are in it as they were
 * before.
 */
export async function clusterInForce(agent: AgentClient): Promise<ClusterState> {
  await mustHaveRead(agent);
  const namespaces = new Map<number, Namespace>();
  return clusterFrom(await agent.state(), object =>
    eventOf({ ...object, json: object.in_force || object.json }, namespaceInForceOf(object, namespaces)),
  );
}

// What `sluice inspect dump` wrote.

/** A missing part is replaced by a sentence that says why it is missing. */
export interface Dump {
  /** RFC 3339. */
  readonly at: string;
  readonly agent: AgentDump | { readonly missing: string };
  /** The tables of this network namespace in nft's own text. */
  readonly kernel: { readonly tables: string } | { readonly missing: string };
}

export interface AgentDump {
  readonly status: StatusResponse;
  /** The agent's cluster, each object as JSON. */
  readonly state: readonly StateObject[];
  /** Answers of DNS to its pods that held at that time; absent in dumps of earlier versions. */
  readonly names?: readonly DnsRecord[];
}

/** The agent's part of a dump. Throws CommandError where the file has none. */
export async function readDump(file: string): Promise<AgentDump & Pick<Dump, 'at'>> {
  const { agent, at = '' } = parsed(await readText(file), file);
  if (typeof agent !== 'object' || agent === null) throw notOne(file);
  if ('missing' in agent) throw new CommandError(`${file} holds no cluster: ${agent.missing}`);
  if (!Array.isArray(agent.state) || agent.status === undefined) throw notOne(file);
  return { ...agent, at };
}

function parsed(text: string, file: string): Partial<Dump> {
  try {
    const value = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {}
  throw notOne(file);
}

function notOne(file: string): CommandError {
  return new CommandError(`${file} is not what \`sluice inspect dump\` writes`);
}
