/** Kubeconfigs as client-go finds, merges and reads them: of two entries of one name the first file's counts. */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { isText } from '../../../lib/text/istext.ts';
import { asMap, asMaps } from '../report/identity.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** A cluster, a user or a context, and the folder that its relative paths begin in. */
export interface Entry {
  readonly value: Fields;
  readonly folder: string;
}

export interface Chosen {
  readonly context: string;
  readonly cluster: Entry;
  readonly user: Entry | undefined;
  /** The namespace of the context; absent where it names none. */
  readonly namespace?: string;
}

interface Kubeconfig {
  readonly folder: string;
  readonly value: Fields;
}

/** The context that is named, else the current one. Throws an Error of one sentence. */
export async function readKubeconfig(file?: string, context?: string): Promise<Chosen> {
  const configs = file === undefined ? await defaultConfigs() : [await readConfig(file)];
  const current = configs.map(({ value }) => value['current-context']).find(name => isText(name));
  const name = context ?? (current as string | undefined);
  if (name === undefined) throw new Error('it names no current context; --context names one');
  return choose(configs, name);
}

function choose(configs: readonly Kubeconfig[], context: string): Chosen {
  const entry = find(configs, 'contexts', 'context', context);
  if (entry === undefined)
    throw new Error(
      `there is no context ${context} (contexts: ${names(configs, 'contexts').join(', ') || 'none'})`,
    );
  const { cluster: clusterName, user: userName, namespace } = entry.value;
  const cluster = find(configs, 'clusters', 'cluster', clusterName);
  if (cluster === undefined) throw new Error(`context ${context} names no cluster`);
  const user = isText(userName) ? find(configs, 'users', 'user', userName) : undefined;
  if (isText(userName) && user === undefined)
    throw new Error(`context ${context} names user ${userName}, and there is none of that name`);
  return { context, cluster, user, ...(isText(namespace) && { namespace }) };
}

function find(configs: readonly Kubeconfig[], list: string, field: string, name: unknown): Entry | undefined {
  for (const { folder, value } of configs)
    for (const item of asMaps(value[list]))
      if (item.name === name) return { value: asMap(item[field]), folder };
  return undefined;
}

function names(configs: readonly Kubeconfig[], list: string): readonly string[] {
  return configs.flatMap(({ value }) => asMaps(value[list]).map(({ name }) => String(name)));
}

/** Files that KUBECONFIG names and that are not there are left out, as long as one is. */
async function defaultConfigs(): Promise<readonly Kubeconfig[]> {
  const named = (process.env.KUBECONFIG ?? '').split(delimiter).filter(isText);
  const files = named.length > 0 ? named : [join(homedir(), '.kube', 'config')];
  const read = await Promise.allSettled(files.map(readConfig));
  const found = read.flatMap(each => (each.status === 'fulfilled' ? [each.value] : []));
  const failed = read.flatMap(each => (each.status === 'rejected' ? [each.reason as Error] : []));
  const serious = failed.find(error => (error as NodeJS.ErrnoException).code !== 'ENOENT');
  if (serious !== undefined || found.length === 0) throw serious ?? failed[0]!;
  return found;
}

async function readConfig(file: string): Promise<Kubeconfig> {
  const text = await readFile(file, 'utf8').catch(error => {
    throw error.code === 'ENOENT' ? Object.assign(error, { message: `${file} does not exist` }) : error;
  });
  const { parse } = await import('yaml'); // An agent in a pod never needs it.
  try {
    return { folder: dirname(resolve(file)), value: asMap(parse(text)) };
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message.split('\n')[0]}`);
  }
}
