import { didYouMean } from '../../../lib/text/didyoumean.ts';
import { type Address, cidrText, parseAddress, parseCidr } from '../../../model/address.ts';
import { type ClusterEvent, NAMESPACE_NAME_LABEL, type Node } from '../../../model/cluster.ts';
import { type PortMatch, PROTOCOLS } from '../../../model/policy.ts';
import type { Problem } from '../../../model/problem.ts';
import { asMap, metadataOf, typeOf } from '../report/identity.ts';
import { decodeClusterNetworkPolicy } from './clusternetworkpolicy.ts';
import { type Dialect, decodeClusterPolicy, readNamedPort, readPriority } from './clusterpolicy.ts';
import { describe, Field, type Report } from './fields.ts';
import { readLabelled, readLabels, readName } from './metadata.ts';
import { decodeNetworkPolicy, unreadNetworkPolicy } from './networkpolicy.ts';
import { decodePod } from './pod.ts';
import { hasFlannel, readTunnelAddresses } from './tunnelannotations.ts';

/** The common part of AdminNetworkPolicy and BaselineAdminNetworkPolicy. */
const ADMIN_DIALECT: Pick<Dialect, 'portsKey' | 'readPort' | 'needsNamespaceSelector' | 'most'> = {
  portsKey: 'ports',
  readPort,
  needsNamespaceSelector: true,
  most: 100,
};

/** C26, C27. */
function readPort(field: Field): PortMatch {
  const key = field.onlyKey(['portNumber', 'portRange', 'namedPort']);
  if (key === undefined) return { kind: 'protocol', protocol: 'TCP' };
  const part = field.get(key);
  switch (key) {
    case 'namedPort':
      return readNamedPort(part);
    case 'portNumber':
      return readPortNumber(part);
    case 'portRange':
      return readPortRange(part);
  }
}

function readPortNumber(part: Field): PortMatch {
  part.expectMap(['protocol', 'port']);
  const port = part.get('port').requiredInteger(1, 65535) ?? 0;
  return { kind: 'range', protocol: part.get('protocol').oneOf(PROTOCOLS) ?? 'TCP', first: port, last: port };
}

/** The CRD does not check that the first port is not above the last. */
function readPortRange(part: Field): PortMatch {
  part.expectMap(['protocol', 'start', 'end']);
  const first = part.get('start').requiredInteger(1, 65535) ?? 0;
  const last = part.get('end').requiredInteger(1, 65535) ?? 0;
  if (first > last) part.warning(`starts at ${first}, after its end ${last}`, 'the range matches nothing');
  return { kind: 'range', protocol: part.get('protocol').oneOf(PROTOCOLS) ?? 'TCP', first, last };
}

/** The result of decoding one Kubernetes object. Without an event nothing changes: callers keep the previous state. */
export interface Decoded {
  readonly kind?: string;
  /** `NetworkPolicy shop/web`: which object this is, also where it cannot be read. */
  readonly object?: string;
  /** Always with a value. */
  readonly event?: ClusterEvent;
  readonly problems: readonly Problem[];
}

type Decoder = (object: Field, uidsOn?: string) => ClusterEvent | undefined;

const CLUSTER_GROUP = 'policy.networking.k8s.io';

/** One decoder per kind; the versions of one kind share a schema. */
const DECODERS: ReadonlyMap<string, Decoder> = new Map([
  ['v1 Pod', decodePod],
  ['v1 Namespace', decodeNamespace],
  ['v1 Node', decodeNode],
  ['networking.k8s.io/v1 NetworkPolicy', decodeNetworkPolicy],
  [`${CLUSTER_GROUP}/v1beta1 ClusterNetworkPolicy`, decodeClusterNetworkPolicy],
  [`${CLUSTER_GROUP}/v1alpha2 ClusterNetworkPolicy`, decodeClusterNetworkPolicy],
  [`${CLUSTER_GROUP}/v1alpha1 AdminNetworkPolicy`, decodeAdminNetworkPolicy],
  [`${CLUSTER_GROUP}/v1alpha1 BaselineAdminNetworkPolicy`, decodeBaselineAdminNetworkPolicy],
]);

/**
 * Reads any value as one Kubernetes object. Kinds that policy does not use give neither event nor problem. `uidsOn`: see
 * decodePod.
 */
export function decodeObject(object: unknown, uidsOn?: string): Decoded {
  const { apiVersion, kind } = typeOf(object);
  if (apiVersion === undefined || kind === undefined) return { problems: [NO_OBJECT] };
  const decoder = DECODERS.get(`${apiVersion} ${kind}`);
  if (decoder === undefined) return { kind, problems: unknownVersion(apiVersion, kind, object) };
  const name = objectName(kind, object);
  const report: Report = { object: name, problems: [], errors: 0 };
  const event = decoder(new Field(object, '', 'the field is ignored', report), uidsOn);
  return { kind, object: name, problems: report.problems, ...(event && { event }) };
}

/** Those of policies, and the core group, which has no name before its version. */
const POLICY_GROUPS = /^(?:(?:networking\.k8s\.io|extensions|policy\.networking\.k8s\.io)\/|[^/]*$)/;
/** Groups that have kinds of others, which are no mistake. */
const MIXED_GROUPS = /^(?:extensions\/|[^/]*$)/;

/**
 * A policy of an unknown version is reported, because it is not in force. Other API groups have kinds of the same name
 * and controllers of their own.
 */
function unknownVersion(apiVersion: string, kind: string, object: unknown): readonly Problem[] {
  if (!POLICY_GROUPS.test(apiVersion) || NO_POLICIES.has(kind)) return [];
  const known = [...DECODERS.keys()].filter(type => type.endsWith(` ${kind}`) && kind.endsWith('Policy'));
  if (known.length === 0) return MIXED_GROUPS.test(apiVersion) ? [] : [unknownKind(apiVersion, kind, object)];
  const versions = known.map(type => type.split(' ')[0]).join(', ');
  const message = `${describe(apiVersion)} is not one that can be read (${versions})`;
  const where = { object: objectName(kind, object), field: 'apiVersion' };
  return [{ severity: 'error', ...where, message, effect: 'the policy is not applied' }];
}

/** Kinds of these API groups, and their lists, that are no policies. */
const NO_POLICIES = new Set(['Ingress', 'IngressClass', 'IPAddress', 'ServiceCIDR', 'ConformanceReport']);

/** The author of an object with a misspelt kind believes that it is in force. */
function unknownKind(apiVersion: string, kind: string, object: unknown): Problem {
  const close = didYouMean(kind, kindsOf(apiVersion));
  const hint = close === undefined ? '' : ` (did you mean ${close}?)`;
  const message = `${describe(kind)} is no kind of ${apiVersion} that can be read${hint}`;
  const where = { object: objectName(kind, object), field: 'kind' };
  return { severity: 'error', ...where, message, effect: 'the policy is not applied' };
}

function kindsOf(apiVersion: string): string[] {
  const types = [...DECODERS.keys()].filter(type => type.startsWith(`${apiVersion} `));
  return types.map(type => type.slice(apiVersion.length + 1));
}

const NO_OBJECT: Problem = {
  severity: 'error',
  message: 'holds something that is no Kubernetes object: it needs an apiVersion and a kind',
  effect: 'it is ignored',
};

/** The object's name for messages, whether or not it is a valid name. */
function objectName(kind: string, object: unknown): string {
  const { name, namespace } = metadataOf(object);
  return CLUSTER_SCOPED.has(kind) ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

const CLUSTER_SCOPED = new Set([
  'Namespace',
  'Node',
  'ClusterNetworkPolicy',
  'AdminNetworkPolicy',
  'BaselineAdminNetworkPolicy',
  'CustomResourceDefinition',
]);

/** policy.networking.k8s.io/v1alpha1. */
function decodeAdminNetworkPolicy(object: Field): ClusterEvent | undefined {
  return decodeClusterPolicy(object, DIALECT);
}

const DIALECT: Dialect = {
  kind: 'AdminNetworkPolicy',
  specKeys: ['priority'],
  readTier: () => 'admin',
  readOrder: readPriority,
  actions: { Allow: 'accept', Deny: 'deny', Pass: 'pass' },
  egressPeers: ['namespaces', 'pods', 'nodes', 'networks', 'domainNames'],
  ...ADMIN_DIALECT,
};

/** policy.networking.k8s.io/v1alpha1. There is one in a cluster, and it is called `default` (C43, 4.23). */
function decodeBaselineAdminNetworkPolicy(object: Field): ClusterEvent | undefined {
  const name = object.get('metadata').get('name');
  const isDefault = name.value === 'default';
  if (!isDefault) name.warning('must be default', 'the policy is ignored');
  return isDefault ? decodeClusterPolicy(object, BASELINE_DIALECT) : undefined;
}

const BASELINE_DIALECT: Dialect = {
  kind: 'BaselineAdminNetworkPolicy',
  specKeys: [],
  readTier: () => 'baseline',
  readOrder: () => 0,
  actions: { Allow: 'accept', Deny: 'deny' },
  egressPeers: ['namespaces', 'pods', 'nodes', 'networks'],
  ...ADMIN_DIALECT,
};

function decodeNamespace(object: Field): ClusterEvent | undefined {
  const { value: name, clean } = object.attempt('the namespace is not known', readName);
  if (name === undefined || !clean) return undefined;
  const { labels, partial } = readLabelled(object);
  // N54: the API server sets this label; a manifest may omit it, and cannot change it.
  const value = { name, labels: { ...labels, [NAMESPACE_NAME_LABEL]: name }, ...(partial && { partial }) };
  return { type: 'namespace', key: name, value };
}

function decodeNode(object: Field): ClusterEvent | undefined {
  const identity = object.attempt('the node stays as it was last known', node => ({
    name: readName(node),
    labels: readLabels(node),
  }));
  const { name, labels } = identity.value;
  if (name === undefined || !identity.clean) return undefined;
  const listed = readAddresses(object.get('status').get('addresses'));
  const podCidrs = readPodCidrs(object.get('spec'));
  const addresses = distinct(listed);
  const internal = distinct(listed.filter(({ isInternal }) => isInternal));
  const externalIps = addresses.filter(address => !internal.includes(address));
  const tunnels = readTunnelAddresses(object, podCidrs);
  const value: Node = {
    name,
    labels,
    addresses,
    ...(externalIps.length > 0 && { externalIps }),
    podCidrs,
    ...(tunnels.size > 0 && { tunnelAddresses: [...tunnels.keys()], tunnelDevices: [...tunnels.values()] }),
    ...(hasFlannel(object) && { hasFlannel: true as const }),
  };
  return { type: 'node', key: name, value };
}

/** An entry of status.addresses that is an IP. */
interface NodeAddress {
  readonly address: Address;
  readonly isInternal: boolean;
}

function distinct(listed: readonly NodeAddress[]): readonly Address[] {
  return [...new Set(listed.map(({ address }) => address))];
}

/** A limit, because nodes report their addresses themselves, and every agent keeps them. */
const MOST_ADDRESSES = 64;

/** 4.22: every entry that is an IP counts, whatever its type; host names and DNS names do not. */
function readAddresses(list: Field): readonly NodeAddress[] {
  const items = list.withEffect('the node has no address').items();
  if (items.length > MOST_ADDRESSES)
    list
      .withEffect(`the node has the first ${MOST_ADDRESSES}`)
      .error(`has ${items.length} entries, and ${MOST_ADDRESSES} are the most`);
  return items.slice(0, MOST_ADDRESSES).flatMap(item => {
    const { value } = item.get('address');
    const address = typeof value === 'string' ? parseAddress(value) : undefined;
    return address === undefined ? [] : { address, isInternal: item.get('type').value === 'InternalIP' };
  });
}

function readPodCidrs(spec: Field): readonly string[] {
  const effect = 'the network is not known to be one of pods';
  const listed = spec.get('podCIDRs').withEffect(effect).items();
  const fields = listed.length > 0 ? listed : [spec.get('podCIDR').withEffect(effect)];
  return fields
    .filter(field => field.isPresent && field.value !== '')
    .map(field => field.parsed('a network', parseCidr))
    .filter(cidr => cidr !== undefined)
    .map(cidrText);
}

// An object that an API server delivers states its type. If that is another type than the requested one, or if a part
// is missing that every stored object of the type has, only its name is used: an object of the requested type and of
// that name exists, and it cannot be read.

/** The type that was asked for; `readAs` is the apiVersion whose reader reads it, if it is not its own. */
export interface DeliveredType {
  readonly apiVersion: string;
  readonly kind: string;
  readonly readAs?: string;
  /** The node whose pods have their uid; absent where all have. */
  readonly uidsOn?: string;
}

/** Reads an object as one of that type. Without an event nothing changes: callers keep the previous state. */
export function decodeDelivered(object: unknown, type: DeliveredType): Decoded {
  const { apiVersion, kind, readAs = apiVersion, uidsOn } = type;
  const map = asMap(object);
  const unread = whyUnread(map, type);
  if (unread === undefined)
    return decodeObject(readAs === apiVersion ? object : { ...map, apiVersion: readAs }, uidsOn);
  const name = objectName(kind, object);
  const report: Report = { object: name, problems: [], errors: 0 };
  const isIsolated = kind === 'NetworkPolicy';
  const root = new Field(object, '', isIsolated ? ISOLATES : STAYS, report);
  root.get(unread.field).error(unread.message);
  const event = isIsolated ? unreadNetworkPolicy(root) : undefined;
  return { kind, object: name, problems: report.problems, ...(event && { event }) };
}

/** Whether the object states that it is of that type. */
export function isOfType(object: unknown, { apiVersion, kind }: DeliveredType): boolean {
  const map = asMap(object);
  return map.apiVersion === apiVersion && map.kind === kind;
}

const ISOLATES =
  'until it is fixed, the policy isolates every pod of its namespace in both directions, and allows them nothing';
const STAYS = 'the object stays as it was last known';

/** The API server stores no object of these kinds without a spec (it fills one in); the cluster policies look themselves. */
const HAVE_SPEC = new Set(['NetworkPolicy', 'Pod']);

function whyUnread(
  object: Readonly<Record<string, unknown>>,
  type: DeliveredType,
): { readonly field: string; readonly message: string } | undefined {
  for (const field of ['kind', 'apiVersion'] as const)
    if (object[field] !== type[field])
      return { field, message: `is ${describe(object[field])}, and ${type[field]} was asked for` };
  const { spec } = object;
  if (!HAVE_SPEC.has(type.kind) || (typeof spec === 'object' && spec !== null && !Array.isArray(spec)))
    return undefined;
  if (spec === undefined || spec === null) return { field: 'spec', message: 'is missing' };
  return { field: 'spec', message: `must be a map, not ${describe(spec)}` };
}
