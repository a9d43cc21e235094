/** Which files of a kustomization are no objects: its patches look like objects, and change those of other files. */
import { asMap, asMaps } from '../kube/report/identity.ts';
import { parseDocuments } from './parse.ts';
import { ParseError } from './yaml.ts';

/** Paths as the kustomization writes them. */
export interface NamedFiles {
  readonly patches: readonly string[];
  readonly resources: readonly string[];
}

export function filesNamedBy(text: string): NamedFiles {
  const all = parseDocuments(text).flatMap(each => (each instanceof ParseError ? [] : [asMap(each.value)]));
  const patches = all.flatMap(({ patchesStrategicMerge, patches, patchesJson6902 }) => [
    ...textsOf(patchesStrategicMerge),
    ...textsOf([...asMaps(patches), ...asMaps(patchesJson6902)].map(({ path }) => path)),
  ]);
  return { patches, resources: all.flatMap(({ resources }) => textsOf(resources)) };
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(each => typeof each === 'string') : [];
}
