/** Which files of a kustomization are no objects: its patches look like objects, and change those of other files. */
import { asMap, asMaps } from '../kube/report/identity.ts';
import { parseDocuments } from './parse.ts';
import { ParseError } from './yaml.ts';

/** Paths as the kustomization writes them. */
export function patchesOf(text: string): readonly string[] {
  return parseDocuments(text).flatMap(document => {
    if (document instanceof ParseError) return [];
    const { patchesStrategicMerge, patches, patchesJson6902 } = asMap(document.value);
    const merged = Array.isArray(patchesStrategicMerge) ? patchesStrategicMerge : [];
    const paths = [...merged, ...[...asMaps(patches), ...asMaps(patchesJson6902)].map(({ path }) => path)];
    return paths.filter(path => typeof path === 'string');
  });
}
