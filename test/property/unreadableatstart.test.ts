/**
 * An agent that starts while namespaces, nodes or policies of the whole cluster cannot be read: it goes on with what is
 * known, or waits where the rules that it finds say that it must. What goes on opens nothing that they deny.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compile } from '../../src/compiler/compile.ts';
import { placeholderNode, readAdoptedState } from '../../src/daemon/source/adoptedstate.ts';
import { madeFrom } from '../../src/daemon/source/startcondition.ts';
import { NodesNotSynced } from '../../src/inputs/kube/watch/clusterfeed.ts';
import { familyOf } from '../../src/model/address.ts';
import type { Cluster, ClusterEvent, Node } from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import type { Policy, PolicyId } from '../../src/model/policy.ts';
import type { Ruleset } from '../../src/nft/ruleset.ts';
import { packet } from '../../src/nft/trace/packet.ts';
import { trace } from '../../src/nft/trace/trace.ts';
import { situationArbitrary } from '../support/arbitrary/cluster.ts';
import { runs } from '../support/seed.ts';

const NODE = 'n1';

/** What cannot be read, and which kinds an agent may wait for. */
const LOST: Record<
  string,
  { without: (cluster: Cluster, nodes: Cluster['nodes']) => Cluster; kinds: string[] }
> = {
  namespaces: { without: cluster => ({ ...cluster, namespaces: new Map() }), kinds: ['Namespace'] },
  nodes: { without: withoutNodes, kinds: ['Node'] },
  both: {
    without: (cluster, nodes) => ({ ...withoutNodes(cluster, nodes), namespaces: new Map() }),
    kinds: ['Namespace', 'Node'],
  },
  'policies of the cluster': { without: withoutPolicies, kinds: ['ClusterNetworkPolicy'] },
};

function withoutNodes(cluster: Cluster, nodes: Cluster['nodes']): Cluster {
  const events = [...cluster.policies].map(([key, value]): ClusterEvent => ({ type: 'policy', key, value }));
  const closed = new NodesNotSynced().pass(events);
  return {
    ...cluster,
    nodes,
    policies: new Map(closed.map(({ key, value }) => [key as PolicyId, value as Policy])),
  };
}

function withoutPolicies(cluster: Cluster): Cluster {
  const rest = [...cluster.policies].filter(([, { kind }]) => kind === 'NetworkPolicy');
  return { ...cluster, policies: new Map(rest) };
}

/** As a pod of this node sends it, and as it comes from elsewhere. */
function denied(ruleset: Ruleset, flow: Flow): boolean[] {
  return [{}, { iifkind: 'veth' }].map(
    around => trace(ruleset, familyOf(flow.from), 'forward', packet(flow), 'new', around).verdict === 'drop',
  );
}

test('what cannot be read at a start opens nothing that rules in force deny, or is waited for', async () => {
  const tally = { denied: 0, waits: 0 };
  await fc.assert(
    fc.asyncProperty(situationArbitrary(60), async ({ cluster, unknownPods, flows }) => {
      const before = compile(cluster, NODE, unknownPods);
      const kernel = { dump: async () => ({ ruleset: before, generation: 0 as never }) };
      const placeholders = placeholderNode(NODE, await readAdoptedState(kernel, 'others'));
      // Its links the agent reads itself.
      const links = cluster.nodes.get(NODE)?.links;
      const nodes = new Map(
        placeholders.map(({ key, value }) => [key, { ...(value as Node), ...(links && { links }) }]),
      );
      for (const [what, { without, kinds }] of Object.entries(LOST)) {
        const after = compile(without(cluster, nodes), NODE, unknownPods);
        const opened = flows.filter(flow => {
          const now = denied(after, flow);
          return denied(before, flow).some((was, i) => was && !now[i]);
        });
        tally.denied += flows.filter(flow => denied(before, flow).includes(true)).length;
        if (opened.length === 0) continue;
        tally.waits++;
        if (!kinds.some(kind => madeFrom(before).has(kind)))
          throw new Error(`without ${what} it is open: ${JSON.stringify(opened[0])}`);
      }
    }),
    { numRuns: runs(100, 30) },
  );
  expect(Math.min(...Object.values(tally)), JSON.stringify(tally)).toBeGreaterThan(runs(20, 4));
}, 600_000);
