/** The agents of a cluster by its API server's `exec`, with the caller's own rights: a thin edge over the official client. */
import { PassThrough, Writable } from 'node:stream';
import type { Exec, KubeConfig, V1Status } from '@kubernetes/client-node';
import { type Api, ApiError } from '../../inputs/kube/client/api.ts';
import { ApiServer } from '../../inputs/kube/client/apiserver.ts';
import { MeasuredApi } from '../../inputs/kube/once/measure.ts';
import { asMap } from '../../inputs/kube/report/identity.ts';
import { listPages } from '../../inputs/kube/watch/listpage.ts';
import { NODES, PODS, type Resource } from '../../inputs/kube/watch/resource.ts';
import { isText } from '../../lib/text/istext.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { accessTo } from '../sources/live.ts';
import {
  type AgentOutput,
  type AgentPod,
  type Agents,
  HEARTBEAT_MS,
  MissingRight,
  STOP,
  type Until,
} from './agents.ts';

export interface AgentsOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  /** The namespace of the agents. */
  readonly agents: string;
}

/** A node without output for so long is away, since it writes a heartbeat every other second. Also before its first. */
const SILENT_MS = 5 * HEARTBEAT_MS;

/** Throws CommandError where there is no such cluster. */
export async function clusterAgents(options: AgentsOptions): Promise<Agents> {
  const client = await import('@kubernetes/client-node');
  const config = configOf(new client.KubeConfig(), options);
  const reviews = config.makeApiClient(client.AuthorizationV1Api);
  const namespace = options.agents;
  const isAllowed = async (verb: string) => {
    const resourceAttributes = { namespace, verb, resource: 'pods', subresource: 'exec' };
    const body = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes },
    };
    return (await reviews.createSelfSubjectAccessReview({ body })).status?.allowed === true;
  };
  return {
    list: () => listOf(options, namespace, 'pods', (server, signal) => listAgents(server, namespace, signal)),
    nodes: () => listOf(options, undefined, 'nodes', listNodes),
    run: async (pod, words, sink, until) => {
      try {
        return await runIn(new client.Exec(config), namespace, pod, words, sink, until);
      } catch (error) {
        const { message } = error as Error;
        if (!/\b403\b/.test(message)) throw error;
        throw new MissingRight(mayNot(await missingVerbs(isAllowed), 'pods/exec', namespace, message));
      }
    },
  };
}

function configOf(config: KubeConfig, { kubeconfig, context }: AgentsOptions): KubeConfig {
  try {
    if (kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
  } catch (error) {
    throw new CommandError(`the kubeconfig cannot be used: ${(error as Error).message}`);
  }
  if (context !== undefined) {
    if (config.getContextObject(context) === null)
      throw new CommandError(`the kubeconfig has no context ${context}`);
    config.setCurrentContext(context);
  }
  if (config.getCurrentCluster() === null) throw new CommandError('the kubeconfig names no cluster');
  return config;
}

async function listOf<T>(
  { kubeconfig, context }: AgentsOptions,
  namespace: string | undefined,
  resource: 'pods' | 'nodes',
  read: (server: Api, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const server = new ApiServer(accessTo(kubeconfig, context));
  try {
    return await read(server, new AbortController().signal);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 403) throw error;
    throw new MissingRight(mayNot('list', resource, namespace, error.sentence ?? error.message));
  } finally {
    await server.close();
  }
}

/** Servers of different versions require different verbs to open a WebSocket. */
async function missingVerbs(isAllowed: (verb: string) => Promise<boolean>): Promise<string> {
  const missing: string[] = [];
  for (const verb of ['create', 'get']) if (!(await isAllowed(verb).catch(() => false))) missing.push(verb);
  return missing.join(' and ') || 'create';
}

function mayNot(verb: string, resource: string, namespace: string | undefined, reason: string): string {
  const what = namespace === undefined ? resource : `${resource} in namespace ${namespace}`;
  return `you may not ask the agents: the right to ${verb} ${what} is missing (${reason})`;
}

async function runIn(
  exec: Exec,
  namespace: string,
  pod: AgentPod,
  words: readonly string[],
  sink: AgentOutput,
  { end, finish }: Until,
): Promise<string | undefined> {
  const ended = Promise.withResolvers<string | undefined>();
  // An agent that answers late is not waited for.
  const silence = setTimeout(() => ended.resolve('it does not answer'), SILENT_MS);
  const soundHeard = () => {
    silence.refresh();
  };
  const broken = () => ended.resolve('its output cannot be read');
  const stdout = linesTo(line => {
    soundHeard();
    sink.line(line);
  }, broken);
  const stderr = linesTo(line => sink.note(line), broken);
  // Open for as long as we are: the command ends with it.
  const stdin = new PassThrough();
  const endSoon = () => void stdin.write(STOP);
  finish?.addEventListener('abort', endSoon, { once: true });
  if (finish?.aborted) endSoon();
  const connecting = exec.exec(
    namespace,
    pod.name,
    pod.container,
    [...words],
    stdout,
    stderr,
    stdin,
    false,
    status => {
      const code = exitCodeOf(status);
      if (code !== undefined) sink.exit?.(code);
      ended.resolve(endOf(status));
    },
  );
  const stop = () => ended.resolve(undefined);
  end.addEventListener('abort', stop, { once: true });
  void connecting.then(
    socket => socket.on('close', () => ended.resolve('the connection was lost')),
    ended.reject,
  );
  try {
    return await ended.promise;
  } finally {
    clearTimeout(silence);
    end.removeEventListener('abort', stop);
    finish?.removeEventListener('abort', endSoon);
    void connecting.then(socket => socket.terminate()).catch(() => undefined);
  }
}

/** Reads the status that the server sends when the command ends. */
function endOf({ status, message }: V1Status): string | undefined {
  return status === 'Success' ? undefined : (message ?? 'the command failed');
}

/** Undefined where the command did not run to its end. */
function exitCodeOf({ status, details }: V1Status): number | undefined {
  if (status === 'Success') return 0;
  const cause = details?.causes?.find(({ reason }) => reason === 'ExitCode');
  return cause?.message === undefined ? undefined : Number(cause.message);
}

// Bytes in pieces as lines of text.

/** No line of ours is as long. */
const LONGEST = 1 << 20;

/** `broken`: a line without an end. */
function linesTo(take: (line: string) => void, broken: () => void): Writable {
  const decoder = new TextDecoder();
  let begun = '';
  return new Writable({
    decodeStrings: true,
    write(chunk: Buffer, _, done) {
      const parts = (begun + decoder.decode(chunk, { stream: true })).split('\n');
      begun = parts.pop()!;
      for (const part of parts) take(part);
      if (begun.length > LONGEST) {
        begun = '';
        broken();
      }
      done();
    },
  });
}

// The pods of the agents as the API server lists them: page by page, and no more than there can be.

/** One of each node, and those that end; 5,000 nodes are the most that Kubernetes is made for. */
const MOST = { objects: 20_000, bytes: 1 << 30 };
const LABEL = 'app.kubernetes.io/name=sluice';

/** Throws ApiError where the server cannot be asked, refuses, or answers without end. */
export async function listAgents(
  server: Api,
  namespace: string,
  signal: AbortSignal,
  most = MOST,
): Promise<AgentPod[]> {
  return listed(server, resourceOf(namespace), agentPod, signal, most);
}

/** The names of all Nodes. Throws as `listAgents` does. */
async function listNodes(server: Api, signal: AbortSignal, most = MOST): Promise<string[]> {
  return listed(server, NODE_NAMES, nodeName, signal, most);
}

async function listed<T>(
  server: Api,
  resource: Resource,
  read: (object: unknown) => readonly T[],
  signal: AbortSignal,
  most: { readonly objects: number; readonly bytes: number },
): Promise<T[]> {
  const api = new MeasuredApi(server, most);
  const found: T[] = [];
  const take = (listed: readonly { readonly object: unknown }[]) => {
    api.read(resource.path, listed.length);
    found.push(...listed.flatMap(({ object }) => read(object)));
  };
  await listPages(api, resource, take, signal);
  return found;
}

const NODE_NAMES: Resource = {
  ...NODES,
  shape: { apiVersion: 'all', kind: 'all', metadata: { name: 'all' } },
};

function nodeName(object: unknown): string[] {
  const { name } = asMap(asMap(object).metadata);
  return isText(name) ? [name] : [];
}

function resourceOf(namespace: string): Resource {
  return {
    ...PODS,
    path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`,
    labelSelector: LABEL,
    shape: {
      apiVersion: 'all',
      kind: 'all',
      metadata: { name: 'all', namespace: 'all', deletionTimestamp: 'all' },
      spec: { nodeName: 'all', containers: { name: 'all' } },
      status: { phase: 'all' },
    },
  };
}

function agentPod(object: unknown): AgentPod[] {
  const { metadata, spec, status } = asMap(object);
  const { nodeName: node, containers } = asMap(spec);
  const { name, deletionTimestamp } = asMap(metadata);
  const container = Array.isArray(containers) ? asMap(containers[0]).name : undefined;
  if (!isText(name) || !isText(node) || !isText(container) || deletionTimestamp !== undefined) return [];
  const { phase } = asMap(status);
  return [{ name, node, container, phase: isText(phase) ? phase : 'unknown' }];
}
