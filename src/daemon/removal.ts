/**
 * An agent that ends because Sluice is being removed leaves nobody who would ever let a new pod in: where unknown pods
 * are denied, the node would take no pod any more. So the last agent of a node allows them; policy of the pods that it
 * knows stays in force until somebody removes it.
 */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Logger } from 'pino';
import { allowingUnknownPods, unknownPodsIn } from '../compiler/unknownpods.ts';
import type { Api } from '../kube/client/api.ts';
import { ApiError } from '../kube/client/apierror.ts';
import { ApiServer } from '../kube/client/apiserver.ts';
import { inClusterAccess } from '../kube/client/incluster.ts';
import { openNftKernel } from '../netlink/nftables/nft-kernel.ts';
import { plan } from '../nft/plan/plan.ts';

const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';
const PATIENCE_MS = 2_000;

/** After the agent has ended, in its pod: allows unknown pods where no agent will come after it. Never throws. */
export async function leaveOpenWhereRemoved(log: Logger): Promise<void> {
  const load = inClusterAccess(process.env);
  if (load === undefined) return;
  const api = new ApiServer(load);
  try {
    const namespace = (await readFile(NAMESPACE_FILE, 'utf8')).trim();
    if (await isRemoved(api, namespace, AbortSignal.timeout(PATIENCE_MS))) await allowUnknownPods(log);
  } catch (error) {
    log.warn({}, `unknown pods stay as they are: ${(error as Error).message}`);
  } finally {
    await api.close();
  }
}

/**
 * Whether the DaemonSet of the agents is gone or going. Also where the server does not know us any more (401): the
 * ServiceAccount goes with its namespace, often before the pods. Whoever may not ask (403) knows nothing.
 */
export async function isRemoved(api: Api, namespace: string, signal: AbortSignal): Promise<boolean> {
  try {
    const path = `/apis/apps/v1/namespaces/${namespace}/daemonsets/sluice`;
    const body = await text(await api.get(path, {}, signal));
    const { metadata } = JSON.parse(body) as { metadata?: { deletionTimestamp?: string } };
    return metadata?.deletionTimestamp !== undefined;
  } catch (error) {
    if (error instanceof ApiError && (error.code === 404 || error.code === 401)) return true;
    throw error;
  }
}

async function allowUnknownPods(log: Logger): Promise<void> {
  const kernel = await openNftKernel();
  try {
    const { ruleset, generation } = await kernel.dump();
    if (unknownPodsIn(ruleset) === 'allow') return;
    await kernel.commit(plan(ruleset, allowingUnknownPods(ruleset)), generation);
    log.warn(
      {},
      'Sluice is being removed: unknown pods are allowed from now on, policy of known pods stays; "sluice uninstall" on the node removes it',
    );
  } finally {
    kernel.close();
  }
}
