/** Which files and folders a kustomization is made of. Its patches look like objects, and change those of other files. */
import { asMap, asMaps, typeOf } from '../kube/report/identity.ts';
import { parseDocuments } from './parse.ts';
import { ParseError } from './yaml.ts';

/** Paths as the kustomization writes them. */
export interface NamedFiles {
  readonly patches: readonly string[];
  /** Files, and folders of other kustomizations. */
  readonly resources: readonly string[];
  /** Whether `kustomize build` makes objects of it: a Component is a part of others, and Flux has a kind of this name. */
  readonly isBuilt: boolean;
}

export function filesNamedBy(text: string): NamedFiles {
  const all = parseDocuments(text).flatMap(each => (each instanceof ParseError ? [] : [asMap(each.value)]));
  const patches = all.flatMap(({ patchesStrategicMerge, patches, patchesJson6902 }) => [
    ...textsOf(patchesStrategicMerge),
    ...textsOf([...asMaps(patches), ...asMaps(patchesJson6902)].map(({ path }) => path)),
  ]);
  const resources = all.flatMap(({ resources, bases, components }) =>
    [resources, bases, components].flatMap(textsOf),
  );
  return { patches, resources, isBuilt: all.every(isOfKustomize) };
}

function isOfKustomize(document: unknown): boolean {
  const { apiVersion = OF_KUSTOMIZE, kind } = typeOf(document);
  return apiVersion.startsWith(OF_KUSTOMIZE) && kind !== 'Component';
}

const OF_KUSTOMIZE = 'kustomize.config.k8s.io/';

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(each => typeof each === 'string') : [];
}
