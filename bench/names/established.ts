/**
 * The cost of rules by name for a packet of an established connection of a pod that has them: one comparison of a port.
 */
import { compile } from '../../src/compiler/compile.ts';
import type { DnsQueue } from '../../src/compiler/namespeers.ts';
import type { ClusterState } from '../../src/model/cluster.ts';
import { EVERY_NAMESPACE, EVERYTHING } from '../../src/model/selector.ts';
import { NODE } from '../cluster.ts';
import { clientPort, packetCluster } from '../packets/cluster.ts';
import { establish, FLOWS, PLAN } from '../packets/established.ts';
import { flowsTo } from '../packets/flows.ts';
import { logRounds, measure } from '../packets/rounds.ts';
import type { Testbed } from '../packets/testbed.ts';
import { absolute, type BenchRow } from '../row.ts';
import { RESOLVER } from './manifests.ts';

const SHAPE = { classes: 10, policies: 100 };

export async function establishedBeside(testbed: Testbed): Promise<BenchRow> {
  const flows = flowsTo(clientPort(SHAPE), FLOWS);
  const without = await testbed.router('established, no rule by name', flows);
  const named = await testbed.router('established, rules by name', flows);
  const queue = await named.queue();
  if (queue === undefined) throw new Error('this kernel has no queue in which answers could wait');
  await without.commit(compile(packetCluster(SHAPE, { uplinks: [without.uplink] }), NODE));
  const dnsQueue: DnsQueue = { queue, resolvers: [RESOLVER] };
  await named.commit(
    compile(withNames(packetCluster(SHAPE, { uplinks: [named.uplink] })), NODE, 'allow', 'others', dnsQueue),
  );
  await establish([without, named]);
  const rounds = await measure([without, named], PLAN);
  logRounds(rounds, without, testbed.log);
  const percent = (100 * rounds.added(named, without).median) / rounds.cost(without).median;
  return absolute('established packet, with rules by name against without', '%', percent, 1);
}

/** Every pod may go to a name. */
function withNames(state: ClusterState): ClusterState {
  const id = 'ClusterNetworkPolicy names';
  const peers = [{ kind: 'domain', name: '*.t.example' } as const];
  const egress = [{ path: 'egress[0]', action: 'accept', peers, ports: 'any' } as const];
  const subject = { namespaces: EVERY_NAMESPACE, pods: EVERYTHING };
  const value = { id, kind: 'ClusterNetworkPolicy', name: 'names', tier: 'admin', order: 1, subject, egress };
  state.apply({ type: 'policy', key: id, value: value as never });
  return state;
}
