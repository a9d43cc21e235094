/** The agents' DaemonSet from the manifests that it was made of, for a cluster that has it no more. */
import { readFile } from 'node:fs/promises';
import type { V1DaemonSet } from '@kubernetes/client-node';
import { flattenLists } from '../../inputs/files/lists.ts';
import { parseManifest } from '../../inputs/files/parse.ts';
import { readFailure } from '../../inputs/folder/folder.ts';
import { asMap, typeOf } from '../../inputs/kube/report/identity.ts';
import { CommandError } from '../../terminal/commanderror.ts';

/** Reads YAML or JSON; other documents in it are ignored. Throws CommandError. */
export async function readAgentsManifest(file: string, name: string): Promise<V1DaemonSet> {
  const text = await readFile(file, 'utf8').catch(error => {
    throw new CommandError(`cannot read ${file}: it ${readFailure(error)}; nothing was changed`);
  });
  try {
    const objects = parseManifest(text).flatMap(({ value }) => flattenLists(value));
    const found = objects.find(({ object }) => isDaemonSet(object, name))?.object;
    if (found !== undefined) return found as V1DaemonSet;
  } catch (error) {
    throw new CommandError(`cannot read ${file}: ${(error as Error).message}; nothing was changed`);
  }
  throw new CommandError(`${file} has no DaemonSet ${name} with a container; nothing was changed`);
}

/** Whether the object is the DaemonSet, with all parts from which a cleaner is made. */
function isDaemonSet(object: unknown, name: string): boolean {
  const { metadata, spec } = asMap(object);
  const { containers } = asMap(asMap(asMap(spec).template).spec);
  const isNamed = typeOf(object).kind === 'DaemonSet' && asMap(metadata).name === name;
  return isNamed && Array.isArray(containers) && containers.length > 0;
}
