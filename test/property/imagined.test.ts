/** A pod that is not there yet is judged as it will be once it is. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { connectionsObject } from '../../src/answers/reach/connectionstext.ts';
import { type Representative, representativesOf } from '../../src/answers/reach/exposure.ts';
import { reachOf } from '../../src/answers/reach/reach.ts';
import { addressFromInt, type Family } from '../../src/model/address.ts';
import type { Cluster, Pod, PodKey } from '../../src/model/cluster.ts';
import type { UnknownPods } from '../../src/model/podcidrs.ts';
import type { Policy } from '../../src/model/policy.ts';
import { unresolvedClusterArbitrary } from '../support/arbitrary/cluster.ts';
import { connectionsBetween } from '../support/oracle/connectionsets.ts';
import { runs } from '../support/seed.ts';

const CLUSTERS = runs(200);

test('a representative reaches, and is reached by, whom the pod that it stands for will', () => {
  const tally = { representatives: 0, pairs: 0, mixed: 0 };
  const check = (cluster: Cluster, unknownPods: UnknownPods) => {
    const bare = withoutNetworks(cluster);
    const representatives = representativesOf(bare, () => false);
    const before = reachOf(bare, { unknownPods, imagined: representatives });
    for (const [i, representative] of representatives.entries()) {
      // Once it is known, a namespace that was not changes what is said of the pods that it has already.
      const { name } = representative.namespace;
      if (name !== '' && !cluster.namespaces.has(name)) continue;
      const pod = podFor(representative);
      const after = reachOf(withPod(bare, pod, representative), { unknownPods });
      tally.representatives++;
      for (const address of before.clusterIndex.owners.keys()) {
        const own = pod.addresses.find(each => each.includes(':') === address.includes(':'))!;
        const family: Family = own.includes(':') ? 'ip6' : 'ip';
        const { ends } = before.families[family];
        const [there, here] = [ends.at(address), ends.imagined[i]!];
        const out = before.families[family].connections(here, there);
        const back = before.families[family].connections(there, here);
        tally.pairs++;
        if (out !== before.pool.all && out !== before.pool.none) tally.mixed++;
        const objects = [out, back].map(each => connectionsObject(before.pool, each));
        expect(objects).toEqual([
          connectionsObject(after.pool, connectionsBetween(after, own, address)),
          connectionsObject(after.pool, connectionsBetween(after, address, own)),
        ]);
      }
    }
  };
  fc.assert(fc.property(unresolvedClusterArbitrary, fc.constantFrom('allow', 'deny'), check), {
    numRuns: CLUSTERS,
  });
  process.stdout.write(`    ${JSON.stringify(tally)}\n`);
  expect(tally.mixed).toBeGreaterThan(runs(2_000));
}, 900_000);

/** Which address it will have decides which networks mean it, and whether tunnels lead there: so here none does. */
function withoutNetworks(cluster: Cluster): Cluster {
  const policies = [...cluster.policies].map(([key, policy]) => [key, policyWithout(policy)] as const);
  const nodes = [...cluster.nodes].map(([name, { links: _, ...node }]) => [name, node] as const);
  return { ...cluster, policies: new Map(policies), nodes: new Map(nodes) };
}

function policyWithout(policy: Policy): Policy {
  const rules = (direction: 'ingress' | 'egress') =>
    policy[direction]?.map(rule => ({
      ...rule,
      peers: rule.peers === 'any' ? rule.peers : rule.peers.filter(({ kind }) => kind !== 'network'),
    }));
  const [ingress, egress] = [rules('ingress'), rules('egress')];
  return { ...policy, ...(ingress && { ingress }), ...(egress && { egress }) };
}

function podFor({ namespace, labels }: Representative): Pod {
  const name = namespace.name || 'new';
  const key: PodKey = `${name}/new`;
  const rest = { node: 'n3', hostNetwork: false, finished: false, createdAt: '', ports: [] };
  const addresses = [addressFromInt('ip', 0xa090909n), addressFromInt('ip6', 0xfd09n << 112n)];
  return { key, namespace: name, name: 'new', labels, addresses, ...rest };
}

function withPod(cluster: Cluster, pod: Pod, { namespace }: Representative): Cluster {
  return {
    ...cluster,
    pods: new Map(cluster.pods).set(pod.key, pod),
    namespaces: new Map(cluster.namespaces).set(pod.namespace, { ...namespace, name: pod.namespace }),
  };
}
