import { asMap } from '../report/identity.ts';
import type { CustomPolicy } from './resource.ts';

/** What a CustomResourceDefinition says about the policies it defines. */
export type Served =
  | { readonly type: 'version'; readonly version: string }
  /** There may be policies, but none that anybody could read now; `versions` are those it is served in. */
  | { readonly type: 'unreadable'; readonly versions: readonly string[] }
  /** No definition, no policies. */
  | { readonly type: 'nowhere' };

/** The best version to read the policies in, of a definition; undefined is one that does not exist. */
export function servedVersion(definition: unknown, { versions }: CustomPolicy): Served {
  if (definition === undefined) return { type: 'nowhere' };
  const served = isEstablished(definition) ? servedVersions(definition) : [];
  const version = versions.find(version => served.includes(version));
  return version === undefined ? { type: 'unreadable', versions: served } : { type: 'version', version };
}

function servedVersions(definition: unknown): readonly string[] {
  return listOf(asMap(asMap(definition).spec).versions)
    .filter(version => version.served === true)
    .map(version => String(version.name));
}

/** The server answers for a kind only once its names are accepted. */
function isEstablished(definition: unknown): boolean {
  const conditions = listOf(asMap(asMap(definition).status).conditions);
  return conditions.some(({ type, status }) => type === 'Established' && status === 'True');
}

function listOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.map(asMap) : [];
}
