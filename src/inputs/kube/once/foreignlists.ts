/** Policies of other engines in a cluster: what is not read may isolate too. */
import type { InventoryItem } from '../../../model/inventory.ts';
import { type Api, ApiError } from '../client/api.ts';
import { type Shape, Skimmer } from '../client/skim.ts';
import { foreignPolicyOf } from '../decode/foreignpolicies.ts';
import { asMap, asMaps } from '../report/identity.ts';
import { readListPage } from '../watch/listpage.ts';
import type { Resource } from '../watch/resource.ts';
import { namespacedResource } from './askedresources.ts';

/** The kinds of each group, with their plurals; of two groups of one engine the first that is served counts. */
export const FOREIGN_KINDS: readonly (readonly [
  groups: readonly string[],
  kinds: Readonly<Record<string, string>>,
])[] = [
  [
    ['cilium.io'],
    {
      CiliumNetworkPolicy: 'ciliumnetworkpolicies',
      CiliumClusterwideNetworkPolicy: 'ciliumclusterwidenetworkpolicies',
    },
  ],
  [
    ['projectcalico.org', 'crd.projectcalico.org'],
    { NetworkPolicy: 'networkpolicies', GlobalNetworkPolicy: 'globalnetworkpolicies' },
  ],
  [['crd.antrea.io'], { NetworkPolicy: 'networkpolicies', ClusterNetworkPolicy: 'clusternetworkpolicies' }],
  [['k8s.ovn.org'], { EgressFirewall: 'egressfirewalls' }],
  [['network.openshift.io'], { EgressNetworkPolicy: 'egressnetworkpolicies' }],
  [['k8s.cni.cncf.io'], { MultiNetworkPolicy: 'multi-networkpolicies' }],
  [['security.istio.io'], { AuthorizationPolicy: 'authorizationpolicies' }],
];

/** What says whom they are about. */
const SHAPE: Shape = {
  apiVersion: 'all',
  kind: 'all',
  metadata: { name: 'all', namespace: 'all' },
  spec: {
    endpointSelector: 'all',
    selector: 'all',
    namespaceSelector: 'all',
    podSelector: 'all',
    appliedTo: 'all',
  },
  specs: { endpointSelector: 'all' },
};

/** More than are ever named: a page of each kind is enough. */
const MOST = '500';

export interface ForeignLists {
  readonly items: readonly InventoryItem[];
  /** The resources that could not be listed, and why. */
  readonly refused: readonly (readonly [resource: Resource, reason: ApiError])[];
}

/** Throws no ApiError: whoever asks about policies of Kubernetes gets an answer whatever another engine does. */
export async function listForeign(
  api: Api,
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<ForeignLists> {
  const lists = (await servedKinds(api, signal)).map(resource => listKind(api, resource, namespaces, signal));
  const read = await Promise.all(lists);
  return {
    items: read.flatMap(({ items }) => items),
    refused: read.flatMap(({ refused }) => refused),
  };
}

async function servedKinds(api: Api, signal: AbortSignal): Promise<readonly Resource[]> {
  const versions = await servedGroups(api, signal);
  return FOREIGN_KINDS.flatMap(([groups, kinds]) => {
    const group = groups.find(each => versions.has(each));
    const apiVersion = `${group}/${versions.get(group ?? '')}`;
    return Object.entries(group === undefined ? {} : kinds).map(([kind, plural]) => ({
      kind,
      apiVersion,
      path: `/apis/${apiVersion}/${plural}`,
      shape: SHAPE,
    }));
  });
}

/** The groups of a server, with the version that it prefers; none where it does not say. */
export async function servedGroups(api: Api, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const groups = await groupsOf(api, signal);
  return new Map(
    groups.map(({ name, preferredVersion }) => [String(name), String(asMap(preferredVersion).version)]),
  );
}

const GROUPS: Shape = { groups: { name: 'all', preferredVersion: { version: 'all' } } };

async function groupsOf(api: Api, signal: AbortSignal) {
  try {
    const skimmer = new Skimmer(GROUPS);
    for await (const chunk of await api.get('/apis', {}, signal)) skimmer.push(chunk);
    return asMaps(asMap(skimmer.value()).groups);
  } catch (error) {
    if (error instanceof ApiError) return [];
    throw error;
  }
}

async function listKind(
  api: Api,
  resource: Resource,
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<ForeignLists> {
  const all = await tryPage(api, resource, signal);
  if (!(all instanceof ApiError)) return { items: all, refused: [] };
  if (all.code === 404) return { items: [], refused: [] };
  const items: InventoryItem[] = [];
  for (const namespace of all.code === 403 ? namespaces : []) {
    const some = await tryPage(api, namespacedResource(resource, namespace), signal);
    if (!(some instanceof ApiError)) items.push(...some);
  }
  return { items, refused: [[resource, all]] };
}

async function tryPage(
  api: Api,
  resource: Resource,
  signal: AbortSignal,
): Promise<readonly InventoryItem[] | ApiError> {
  const items: InventoryItem[] = [];
  try {
    const take = (objects: readonly { readonly object: unknown }[]) => {
      for (const { object } of objects) {
        const value = foreignPolicyOf(object);
        if (value !== undefined) items.push({ type: 'foreignPolicy', value });
      }
    };
    await readListPage(api, resource, { limit: MOST }, take, signal);
    return items;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}
