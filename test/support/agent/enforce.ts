/** Puts policy in force in a laboratory, without an agent. */

import type { Lab } from '../../../bench/lab/lab.ts';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { compile } from '../../../src/compiler/compile.ts';
import { openNftKernel } from '../../../src/kernel/netlink/nftables/nft-kernel.ts';
import type { Cluster } from '../../../src/model/cluster.ts';
import type { UnknownPods } from '../../../src/model/podcidrs.ts';
import type { Kernel } from '../../../src/nft/kernel.ts';
import { plan } from '../../../src/nft/plan/plan.ts';
import { withOwnLinks } from '../packets/ownlinks.ts';

/** The kernel of each node, by its name. */
export async function openKernels(lab: Lab): Promise<Map<string, Kernel>> {
  const kernels = new Map<string, Kernel>();
  for (const { name } of lab.topology.nodes)
    kernels.set(name, await inNamespace(lab.nodeNamespace(name), () => openNftKernel()));
  return kernels;
}

/** Reconciles the rules of every node with the cluster. */
export async function enforce(
  lab: Lab,
  kernels: ReadonlyMap<string, Kernel>,
  cluster: Cluster,
  unknownPods?: UnknownPods,
): Promise<void> {
  for (const [node, kernel] of kernels) {
    const { ruleset, generation } = await kernel.dump();
    const seen = await withOwnLinks(cluster, node, lab.nodeNamespace(node));
    await kernel.commit(plan(ruleset, compile(seen, node, unknownPods)), generation);
  }
}
