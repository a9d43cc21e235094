/**
 * An agent that leads the tables of its network namespace from one layout to the other, again and again, until it is
 * killed. Says "walking" at each turn, and first when it has taken them over.
 */
import { KernelState } from '../../../src/agent/kernelstate.ts';
import { compile } from '../../../src/compiler/compile.ts';
import { openNftKernel } from '../../../src/kernel/netlink/nftables/nft-kernel.ts';
import { layoutCluster, otherLayout } from './layouts.ts';

const node = process.argv[2]!;

const state = new KernelState({
  open: () => openNftKernel(),
  onDrift: () => {},
  now: () => performance.now(),
});
const kernel = await state.open();
const cluster = layoutCluster();
const today = compile(cluster, node);
// The rules as they were found: complete or in part, because the walk may end anywhere.
const layouts = [otherLayout(today), today];
await kernel.commit([]);
for (let n = 0; ; n++) {
  process.stdout.write('walking\n');
  await state.reconcile(() => layouts[n % 2]!, 'dump');
}
