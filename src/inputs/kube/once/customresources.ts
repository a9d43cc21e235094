/** Which cluster policies a server has, and in which version to read them. */
import type { Problem } from '../../../model/problem.ts';
import type { Api } from '../client/api.ts';
import { ApiError } from '../client/apierror.ts';
import { type Shape, Skimmer } from '../client/skim.ts';
import { asMap, asMaps } from '../report/identity.ts';
import { CUSTOM_POLICIES, type CustomPolicy, customResource, type Resource } from '../watch/resource.ts';
import { chooseVersion, versionProblem } from '../watch/served.ts';
import { type Lack, lackOf } from './lack.ts';

export interface CustomResources {
  readonly resources: readonly Resource[];
  readonly problems: readonly Problem[];
  readonly lacks: readonly Lack[];
}

const GROUP = '/apis/policy.networking.k8s.io';

/** By discovery, which everybody may ask who may ask anything. */
export async function customResources(api: Api, signal: AbortSignal): Promise<CustomResources> {
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
