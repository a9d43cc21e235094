import { sleep } from '../../lib/async/sleep.ts';
import { plural } from '../../lib/text/plural.ts';
import { writeLine } from '../../terminal/output.ts';
import type { Removal } from './allnodes.ts';

export interface UninstallOptions {
  readonly allNodes?: boolean;
  readonly namespace: string;
  readonly kubeconfig?: string;
  /** Manifests that have the agents' DaemonSet, should the cluster have it no more. */
  readonly file?: string;
  /** Limit for the removal, in seconds. */
  readonly timeout: number;
  /** Exit with 0 although nodes were away. */
  readonly ignoreAbsent?: boolean;
  /** For this node only: how long the agent may take to end, in seconds. */
  readonly afterAgent?: number;
  readonly cniBinDir?: string;
  readonly cniConfDir?: string;
}

/** `sluice uninstall`: of this node, or by way of the API server of all nodes. Exit code 1 where a node was away. */
export async function uninstallCommand(options: UninstallOptions): Promise<void> {
  if (options.allNodes !== true) {
    const { uninstallHere } = await import('./thisnode.ts');
    return uninstallHere(options);
  }
  const [{ openAgentCluster }, { AGENTS, removeFromAllNodes }, { readAgentsManifest }] = await Promise.all([
    import('./agentcluster.ts'),
    import('./allnodes.ts'),
    import('./agentsmanifest.ts'),
  ]);
  const { file, namespace, kubeconfig } = options;
  const manifest = file === undefined ? undefined : await readAgentsManifest(file, AGENTS);
  const cluster = await openAgentCluster(namespace, kubeconfig);
  const removal = await removeFromAllNodes({
    ...(manifest !== undefined && { manifest }),
    cluster,
    patienceMs: options.timeout * 1000,
    sleep,
    now: () => performance.now(),
  }).finally(() => cluster.close());
  for (const line of removalLines(removal, options)) writeLine(line);
  if (removal.missing.length > 0 && options.ignoreAbsent !== true) process.exitCode = 1;
}

function removalLines({ cleaned, missing }: Removal, { namespace }: UninstallOptions): string[] {
  const lines = [`${plural(cleaned.length, 'node')} clean: ${cleaned.join(', ') || 'none'}`];
  if (missing.length > 0)
    lines.push(
      `not clean yet: ${missing.join(', ')}`,
      `DaemonSet sluice-cleaner stays in namespace ${namespace} and cleans them when they return; run this again to finish`,
    );
  else
    lines.push(
      `left are the ServiceAccount, the ClusterRole and namespace ${namespace}: "kubectl delete --ignore-not-found -k daemonset" removes them; helm uninstall removes all but the namespace itself`,
    );
  return lines;
}
