/**
 * When Sluice is removed, the last agent of a node allows unknown pods: after it no agent would ever allow a new pod,
 * and where unknown pods are denied the node could run none. Policy of the pods that it knows stays in force until the
 * rules are removed.
 */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Logger } from 'pino';
import { markedRemoved } from '../compiler/removedmark.ts';
import { allowingUnknownPods, unknownPodsIn } from '../compiler/unknownpods.ts';
import { type Api, ApiError, type Query, unlessForbidden } from '../inputs/kube/client/api.ts';
import { ApiServer } from '../inputs/kube/client/apiserver.ts';
import { inClusterAccess } from '../inputs/kube/client/findaccess.ts';
import { openNftKernel } from '../kernel/netlink/nftables/nft-kernel.ts';
import { plan } from '../nft/plan/plan.ts';

const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';
/** Limit for one answer. */
const PATIENCE_MS = 2_000;
/**
 * An API server remembers for 10 s that it knows a token: meanwhile it forbids what it will not know us for. The pod's
 * terminationGracePeriodSeconds has room for it.
 */
const TOKEN_CACHE_MS = 11_000;
const RETRY_MS = 500;

/**
 * After the agent has ended, in its pod: where no agent will come after it, allows unknown pods, and leaves the mark that
 * a cleaner waits for. `wasRead`: the API server knew the agent shortly before. Never throws.
 */
export async function leaveOpenWhereRemoved(wasRead: boolean, log: Logger): Promise<void> {
  const load = inClusterAccess(process.env);
  if (load === undefined) return;
  const api = new ApiServer(load);
  try {
    const namespace = (await readFile(NAMESPACE_FILE, 'utf8')).trim();
    const ask = () => isRemoved(api, { namespace, wasRead }, AbortSignal.timeout(PATIENCE_MS));
    if (await unlessForbidden(ask, TOKEN_CACHE_MS, RETRY_MS)) await leaveOpen(log);
  } catch (error) {
    log.warn({}, `unknown pods stay as they are: ${(error as Error).message}`);
  } finally {
    await api.close();
  }
}

/**
 * Whether the agents' DaemonSet is gone or being deleted, or its namespace is, whose pods may be deleted before the
 * DaemonSet. Also true where the server does not know us any more (401), because the ServiceAccount goes with them; but
 * not where it has not known us for long: then it has other keys, or our token was not renewed. A 403 says nothing.
 */
export async function isRemoved(
  api: Api,
  { namespace, wasRead }: { readonly namespace: string; readonly wasRead: boolean },
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const daemonSet = `/apis/apps/v1/namespaces/${namespace}/daemonsets/sluice`;
    if (isGoing(await read<Going>(api, daemonSet, {}, signal))) return true;
    // Asks with the right to list namespaces, which the agent has.
    const named = { fieldSelector: `metadata.name=${namespace}` };
    const { items } = await read<{ items: readonly Going[] }>(api, '/api/v1/namespaces', named, signal);
    return items.every(isGoing);
  } catch (error) {
    if (isWordOfServer(error, wasRead)) return true;
    throw error;
  }
}

/** A load balancer without a backend answers 404, and a proxy 401, in their own words. */
function isWordOfServer(error: unknown, wasRead: boolean): boolean {
  if (!(error instanceof ApiError) || error.sentence === undefined) return false;
  return error.code === 404 || (error.code === 401 && wasRead);
}

interface Going {
  readonly metadata: { readonly deletionTimestamp?: string };
}

const isGoing = ({ metadata }: Going) => metadata.deletionTimestamp !== undefined;

async function read<T>(api: Api, path: string, query: Query, signal: AbortSignal): Promise<T> {
  return JSON.parse(await text(await api.get(path, query, signal))) as T;
}

async function leaveOpen(log: Logger): Promise<void> {
  const kernel = await openNftKernel();
  try {
    const { ruleset, generation } = await kernel.dump();
    await kernel.commit(plan(ruleset, markedRemoved(allowingUnknownPods(ruleset))), generation);
    if (unknownPodsIn(ruleset) === 'allow') return;
    log.warn(
      {},
      'Sluice is being removed: unknown pods are allowed from now on, policy of known pods stays; "sluice uninstall" on the node removes it',
    );
  } finally {
    kernel.close();
  }
}
