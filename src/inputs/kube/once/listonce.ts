/**
 * Reads a cluster once, with the caller's own rights: resources that the caller may not read are reported, and all
 * others are read.
 */
import { ownSignal } from '../../../lib/async/ownsignal.ts';
import { isSameList } from '../../../lib/collections/samelist.ts';
import type { ClusterEvent } from '../../../model/cluster.ts';
import type { InventoryItem } from '../../../model/inventory.ts';
import type { Problem } from '../../../model/problem.ts';
import { type Api, ApiError } from '../client/api.ts';
import { type Shape, Skimmer } from '../client/skim.ts';
import { decodeDelivered, isOfType } from '../decode/decode.ts';
import { decodeInventory } from '../decode/inventory.ts';
import { asMap, asMaps } from '../report/identity.ts';
import { listPages } from '../watch/listpage.ts';
import {
  CUSTOM_POLICIES,
  type CustomPolicy,
  chooseVersion,
  customResource,
  NAMESPACES,
  NETWORK_POLICIES,
  NODES,
  type Resource,
  versionProblem,
} from '../watch/resource.ts';
import {
  ENTRANCES,
  namespacedResource,
  PODS_AND_OWNERS,
  pluralOf,
  SERVICE_RESOURCES,
  WORKLOADS,
} from './askedresources.ts';
import { listForeign, servedGroups } from './foreignlists.ts';
import { MeasuredApi, MOST_READ } from './measure.ts';

export interface ListedKinds {
  readonly workloads: boolean;
  readonly services: boolean;
  readonly entrances?: boolean;
  /** The namespaces to list if the caller may not list the whole cluster. */
  readonly namespaces: readonly string[];
}

export interface ReadOnce {
  readonly events: readonly ClusterEvent[];
  readonly items: readonly InventoryItem[];
  readonly problems: readonly Problem[];
  readonly lacks: readonly Lack[];
}

/** Called with the number of objects of a kind that were read so far. */
export type ListProgress = (resource: string, count: number) => void;

/**
 * All lists at once: one that fails ends the others. Throws ApiError where the server cannot be reached, does not know
 * the caller, or answers without end.
 */
export async function listOnce(
  server: Api,
  wanted: ListedKinds,
  progress: ListProgress,
  signal: AbortSignal,
  most = MOST_READ,
): Promise<ReadOnce> {
  const failed = new AbortController();
  const api = new MeasuredApi(server, most);
  const own = () => ownSignal(signal, failed.signal);
  const custom = await customResources(api, signal);
  const entrances = wanted.entrances ? await servedEntrances(api, signal) : [];
  const resources = [
    ...FOR_POLICY,
    ...entrances,
    ...custom.resources,
    ...(wanted.workloads ? WORKLOADS : []),
    ...(wanted.services ? SERVICE_RESOURCES : []),
  ];
  const [foreign, ...read] = await Promise.all([
    listForeign(api, wanted.namespaces, own()),
    ...resources.map(resource => readResource(api, resource, wanted.namespaces, progress, own())),
  ]).finally(() => failed.abort());
  return {
    events: read.flatMap(({ events }) => events),
    items: [...foreign.items, ...read.flatMap(({ items }) => items)],
    problems: [...custom.problems, ...read.flatMap(({ problems }) => problems)],
    lacks: [
      ...custom.lacks,
      ...read.flatMap(({ lacks }) => lacks).filter(({ resource }) => !SAID_ELSEWHERE.includes(resource)),
      ...foreign.refused.map(([resource, error]) => foreignLack(resource, error)),
    ],
  };
}

/**
 * Those of the groups that the server has: who may not list a resource is refused whether or not there is one.
 */
async function servedEntrances(api: Api, signal: AbortSignal): Promise<readonly Resource[]> {
  const groups = await servedGroups(api, signal);
  return ENTRANCES.filter(({ apiVersion }) => groups.has(apiVersion.split('/')[0]!));
}

/** Without these, an answer names the Ingress or the route of which it is not known who serves it. */
const SAID_ELSEWHERE = [
  'ingressclasses',
  'gatewayclasses',
  'gateways',
  'tlsroutes',
  'tcproutes',
  'udproutes',
];

const FOR_POLICY = [PODS_AND_OWNERS, NAMESPACES, NODES, NETWORK_POLICIES];

/** The whole cluster's, else those of the namespaces that the question is about. */
async function readResource(
  api: MeasuredApi,
  resource: Resource,
  namespaces: readonly string[],
  progress: ListProgress,
  signal: AbortSignal,
): Promise<ReadOnce> {
  const all = await tryList(api, resource, progress, signal);
  if (!isRefusal(all)) return { ...all, lacks: [] };
  const places = isNamespaced(resource) ? namespaces : [];
  const read: Listed[] = [];
  const readable: string[] = [];
  for (const namespace of places) {
    const listed = await tryList(api, namespacedResource(resource, namespace), progress, signal);
    if (isRefusal(listed)) continue;
    read.push(listed);
    readable.push(namespace);
  }
  return {
    events: read.flatMap(({ events }) => events),
    items: read.flatMap(({ items }) => items),
    problems: read.flatMap(({ problems }) => problems),
    lacks: [lackOf(resource, readable, all.refused)],
  };
}

const CLUSTER_WIDE = ['Namespace', 'Node', 'IngressClass', 'GatewayClass'];

function isNamespaced({ kind, path }: Resource): boolean {
  return !CLUSTER_WIDE.includes(kind) && !path.startsWith('/apis/policy.networking.k8s.io/');
}

type Listed = Omit<ReadOnce, 'lacks'>;
interface Refused {
  readonly refused: string;
}

function isRefusal(listed: Listed | Refused): listed is Refused {
  return 'refused' in listed;
}

async function tryList(
  api: MeasuredApi,
  resource: Resource,
  progress: ListProgress,
  signal: AbortSignal,
): Promise<Listed | Refused> {
  try {
    return await list(api, resource, progress, signal);
  } catch (error) {
    if (error instanceof ApiError && error.code === 403) return { refused: shortReason(error) };
    if (error instanceof ApiError && error.code === 404) return { events: [], items: [], problems: [] };
    throw error;
  }
}

/** The server's message after the path and the status. */
function shortReason({ message }: ApiError): string {
  return /is forbidden: (.*)$/.exec(message)?.[1] ?? message;
}

async function list(
  api: MeasuredApi,
  resource: Resource,
  progress: ListProgress,
  signal: AbortSignal,
): Promise<Listed> {
  const events: ClusterEvent[] = [];
  const items: InventoryItem[] = [];
  const problems: Problem[] = [];
  let count = 0;
  await listPages(
    api,
    resource,
    objects => {
      for (const { object } of objects) {
        const decoded = decodeDelivered(object, resource);
        const found = isOfType(object, resource) ? decodeInventory(object) : { problems: [] };
        if (decoded.event !== undefined) events.push(decoded.event);
        if (found.item !== undefined) items.push(found.item);
        problems.push(...decoded.problems, ...found.problems);
      }
      api.read(resource.path, objects.length);
      count += objects.length;
      progress(pluralOf(resource), count);
    },
    signal,
  );
  return { events, items, problems };
}

/** The cluster policies that a server has, and the version in which to read each. */
interface CustomResources {
  readonly resources: readonly Resource[];
  readonly problems: readonly Problem[];
  readonly lacks: readonly Lack[];
}

const GROUP = '/apis/policy.networking.k8s.io';

/** Asks the discovery API, which every authenticated user may read. */
async function customResources(api: Api, signal: AbortSignal): Promise<CustomResources> {
  try {
    return await discover(api, signal);
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 403)) throw error;
    return { resources: [], problems: [], lacks: [lackOf(UNKNOWN_KINDS, [], error.message)] };
  }
}

const UNKNOWN_KINDS: Resource = {
  kind: 'ClusterNetworkPolicy',
  apiVersion: '',
  path: 'policy.networking.k8s.io',
};

async function discover(api: Api, signal: AbortSignal): Promise<CustomResources> {
  const versions = await versionsOf(api, signal);
  const kindsOf = new Map<string, readonly string[]>();
  for (const version of versions) kindsOf.set(version, await kindsIn(api, version, signal));
  const found = CUSTOM_POLICIES.map(policy => resourceOf(policy, kindsOf));
  return {
    resources: found.flatMap(({ resource }) => resource ?? []),
    problems: found.flatMap(({ problem }) => problem ?? []),
    lacks: [],
  };
}

function resourceOf(policy: CustomPolicy, kindsOf: ReadonlyMap<string, readonly string[]>) {
  const versions = [...kindsOf]
    .filter(([, kinds]) => kinds.includes(policy.kind))
    .map(([version]) => version);
  if (versions.length === 0) return {};
  const served = chooseVersion(versions, policy);
  const problem = versionProblem(served, policy);
  const resource =
    served.type === 'version' ? customResource(policy, served.version, served.readAs) : undefined;
  return { ...(resource && { resource }), ...(problem && { problem }) };
}

async function versionsOf(api: Api, signal: AbortSignal): Promise<readonly string[]> {
  const group = await getJson(api, GROUP, signal);
  return asMaps(group.versions).map(({ version }) => String(version));
}

async function kindsIn(api: Api, version: string, signal: AbortSignal): Promise<readonly string[]> {
  const list = await getJson(api, `${GROUP}/${version}`, signal);
  return asMaps(list.resources).map(({ kind }) => String(kind));
}

/** A group that is not there has none. */
async function getJson(api: Api, path: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  try {
    const body = await api.get(path, {}, signal);
    return asMap(await bodyValue(body));
  } catch (error) {
    if (error instanceof ApiError && error.code === 404) return {};
    throw error;
  }
}

async function bodyValue(body: AsyncIterable<Uint8Array>): Promise<unknown> {
  const skimmer = new Skimmer(DISCOVERED);
  for await (const chunk of body) skimmer.push(chunk);
  return skimmer.value();
}

const DISCOVERED: Shape = { versions: { version: 'all' }, resources: { kind: 'all' } };

/** Something that a question could not read, and the effect on its answer. */
export interface Lack {
  /** `networkpolicies`. */
  readonly resource: string;
  /** The namespaces that could be read although the whole cluster could not. */
  readonly only: readonly string[];
  /** The reason in the server's words. */
  readonly reason: string;
  /** The effect, as the rest of a sentence. */
  readonly effect: string;
  /** Whether there may be policies that could not be read: then no verdict is reliable. */
  readonly hidesPolicies: boolean;
}

function lackOf(resource: Resource, only: readonly string[], reason: string): Lack {
  const hidesPolicies = resource.kind.endsWith('NetworkPolicy');
  const effect = hidesPolicies
    ? resource.kind === 'NetworkPolicy' && only.length > 0
      ? HIDDEN_ELSEWHERE
      : HIDDEN_POLICY
    : (EFFECTS[resource.kind] ?? OTHER);
  return { resource: pluralOf(resource), only, reason, effect, hidesPolicies };
}

function foreignLack(resource: Resource, error: ApiError): Lack {
  const only: readonly string[] = [];
  return {
    resource: pluralOf(resource),
    only,
    reason: shortReason(error),
    effect: FOREIGN,
    hidesPolicies: false,
  };
}

const FOREIGN = 'what another engine isolates by them is not known';
const HIDDEN_POLICY = 'a policy that could not be read may decide otherwise: what follows is no verdict';

const HIDDEN_ELSEWHERE =
  'what policies say of pods of other namespaces is not known: connections of theirs are undecided';
const BY_WAY = 'what clients outside reach by way of them is not in the answer';

const EFFECTS: Readonly<Record<string, string>> = {
  Pod: 'the others are not known: their addresses are judged as those of no pod',
  Namespace:
    'their labels are not known: a rule that selects namespaces by label allows nothing, and may deny',
  Node: 'they are not known: their addresses are judged like any outside the cluster, and rules about nodes match nothing',
  Service: 'an address may be that of a Service, which could not be looked up',
  Ingress: BY_WAY,
  HTTPRoute: BY_WAY,
  GRPCRoute: BY_WAY,
  Route: BY_WAY,
  EndpointSlice: "a Service's endpoints are taken from its selector",
};

const OTHER = 'they cannot be asked about by name, and their pods count as those of what they made';

/**
 * The namespaces of which all policies were read, if only NetworkPolicies of others could not be: a caller who may read
 * the policies of the cluster, and a namespace.
 */
export function namespacesRead(lacks: readonly Lack[]): readonly string[] | undefined {
  const hiding = lacks.filter(({ hidesPolicies }) => hidesPolicies);
  const [first] = hiding;
  return hiding.length === 1 && first!.resource === 'networkpolicies' && first!.only.length > 0
    ? first!.only
    : undefined;
}

/** A sentence for each, or where there are many one for all: a caller without any right lacks fourteen. */
export function lackTexts(lacks: readonly Lack[]): string[] {
  const most = namespacesRead(lacks) === undefined ? MOST_LACK_TEXTS : 1;
  if (lacks.length <= most) return lacks.map(lackText);
  const only = commonOnly(lacks);
  const names = lacks.map(lack => lack.resource + (only === undefined ? butText(lack.only) : ''));
  const where = only === undefined ? '' : ` outside ${only.join(', ')}`;
  const who = /^User "([^"]+)"/.exec(lacks[0]!.reason)?.[1];
  const hides = lacks.some(({ hidesPolicies }) => hidesPolicies);
  const effect = namespacesRead(lacks) !== undefined ? HIDDEN_ELSEWHERE : hides ? HIDDEN_POLICY : MANY;
  return [`you${who === undefined ? '' : ` (${who})`} may not list ${names.join(', ')}${where}: ${effect}`];
}

/** The namespaces in which all of them could be read, if these are the same for all. */
function commonOnly([first, ...others]: readonly Lack[]): readonly string[] | undefined {
  const isCommon = others.every(({ only }) => isSameList(only, first!.only));
  return isCommon && first!.only.length > 0 ? first!.only : undefined;
}

const MOST_LACK_TEXTS = 2;
const MANY = 'what the answer would need of them is not known';

function butText(only: readonly string[]): string {
  return only.length === 0 ? '' : ` (but in ${only.join(', ')})`;
}

/** `you may not list networkpolicies: …; what follows …`. */
function lackText({ resource, only, reason, effect }: Lack): string {
  const but = only.length === 0 ? '' : `, but in ${only.join(', ')}`;
  return `you may not list ${resource}${but} (${reason}): ${effect}`;
}
