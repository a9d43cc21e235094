/** Sluice's own commands as people run them on a cluster: in the pod of a node's agent. */
import { type Output, tryKubectl } from './cluster.ts';
import { agents } from './site.ts';

/** `sluice('node1', 'inspect')`. Never throws for an exit code. */
export async function sluice(node: string, ...args: string[]): Promise<Output> {
  const { name } = (await agents()).get(node)!;
  return tryKubectl('-n', 'sluice', 'exec', name, '--', 'sluice', ...args);
}
