/**
 * Denied packets by name, with real ones: every connection attempt that a scenario has denied is one line, and the line
 * has the decider that the reference names; nothing that is allowed has one.
 */
import { afterAll, expect, test } from 'vitest';
import { compile } from '../../src/compiler/compile.ts';
import {
  DENIED_GROUP,
  DENIED_HEAD_BYTES,
  DENIED_PREFIX,
  type DenialLimits,
  withDenialLimits,
} from '../../src/compiler/denied.ts';
import type { Denial } from '../../src/denials/denial.ts';
import { ModelView } from '../../src/denials/modelview.ts';
import { DenialRecorder } from '../../src/denials/recorder.ts';
import { forgetConnections } from '../../src/lab/conntrack.ts';
import { buildLab, type Lab } from '../../src/lab/lab.ts';
import { inNamespace } from '../../src/lab/netns.ts';
import { probe } from '../../src/lab/probe/probe.ts';
import { topologyKey, topologyOf } from '../../src/lab/topology.ts';
import type { Cluster } from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import { LogSocket } from '../../src/netlink/nflog/logsocket.ts';
import type { Kernel } from '../../src/nft/kernel.ts';
import { plan } from '../../src/nft/plan/plan.ts';
import { evaluate } from '../../src/semantics/evaluate.ts';
import { openKernels } from '../support/agent/enforce.ts';
import { eventsOf } from '../support/arbitrary/events.ts';
import { withOwnLinks } from '../support/packets/ownlinks.ts';
import { loadScenarios, type Moment, play } from '../support/scenarios/scenario.ts';

const EVERY: DenialLimits = {
  perSource: { perSecond: 100_000, burst: 100_000 },
  inAll: { perSecond: 100_000, burst: 100_000 },
};

interface Site {
  readonly key: string;
  readonly lab: Lab;
  readonly kernels: ReadonlyMap<string, Kernel>;
  readonly sockets: ReadonlyMap<string, LogSocket>;
}

let site: Site | undefined;
let lines = 0;

afterAll(() => {
  leave();
  console.log(`${lines} denied connection attempts had their line`);
});

const scenarios = loadScenarios().filter(scenario => scenario.packets);

test.each(scenarios.map(scenario => [scenario.file, scenario] as const))(
  'denials have names: %s',
  async (_, scenario) => {
    for (const moment of play(scenario)) await check(moment);
  },
);

async function check({ cluster, expectations }: Moment): Promise<void> {
  // A protocol without ports is known by its addresses alone, and a hairpin needs a Service.
  const tried = unique(
    expectations.filter(({ flow }) => typeof flow.protocol !== 'number' && !flow.viaService),
  );
  const here = await siteFor(
    expectations.flatMap(({ flow }) => [flow.from, flow.to]),
    cluster,
  );
  const views = await programmed(here, cluster);
  const recorders = new Map([...views].map(([node, view]) => [node, new DenialRecorder({ view })]));
  for (const { name } of here.lab.topology.nodes) forgetConnections(here.lab.nodeNamespace(name));
  for (const socket of here.sockets.values()) socket.read(10_000, () => undefined);
  await probe(
    here.lab,
    tried.map(({ flow }) => flow),
    { quietMs: 60 },
  );
  await new Promise(resolve => setTimeout(resolve, 60));
  for (const [node, socket] of here.sockets)
    socket.read(10_000, packet => {
      expect(packet.prefix).toBe(DENIED_PREFIX);
      recorders.get(node)!.take(packet, Date.now());
    });
  const denials = [...recorders.values()].flatMap(({ journal }) => journal.denials());
  // What is closed behind a probe may be denied as a packet of no known connection.
  const judged = denials.filter(
    ({ cause }) =>
      cause.kind === 'unexplained' || (cause.kind !== 'mid-stream' && cause.direction !== undefined),
  );
  for (const { flow, text } of tried) {
    const found = judged.filter(denial => isOf(denial, flow));
    const verdict = evaluate(cluster, flow);
    const decider = [verdict.egress, verdict.ingress].find(each => each.verdict === 'deny');
    expect(
      found.map(({ cause }) => [cause.policy, cause.rule, cause.reason]),
      text,
    ).toEqual(decider === undefined ? [] : [[decider.policy, decider.rule, decider.reason]]);
    lines += found.length;
  }
}

function unique<T extends { readonly flow: Flow }>(tried: readonly T[]): T[] {
  return [...new Map(tried.map(each => [JSON.stringify(each.flow), each])).values()];
}

function isOf({ from, to, protocol, port }: Denial, flow: Flow): boolean {
  return (
    from.address === flow.from && to.address === flow.to && protocol === flow.protocol && port === flow.port
  );
}

/** Puts the rules in force on all nodes; answers what their agents would know. */
async function programmed({ lab, kernels }: Site, cluster: Cluster): Promise<Map<string, ModelView>> {
  const views = new Map<string, ModelView>();
  for (const [node, kernel] of kernels) {
    const { ruleset, generation } = await kernel.dump();
    const seen = await withOwnLinks(cluster, node, lab.nodeNamespace(node));
    await kernel.commit(plan(ruleset, withDenialLimits(compile(seen, node), EVERY)), generation);
    const view = new ModelView(seen, { node, unknownPods: 'allow', now: () => performance.now() });
    for (const event of eventsOf(seen)) view.note(event);
    views.set(node, view);
  }
  return views;
}

async function siteFor(addresses: Parameters<typeof topologyOf>[1], cluster: Cluster): Promise<Site> {
  const topology = topologyOf(cluster, addresses);
  const key = topologyKey(topology);
  if (site?.key === key) return site;
  leave();
  const lab = await buildLab(topology);
  const group = { group: DENIED_GROUP, copyBytes: DENIED_HEAD_BYTES, atOnce: 32, withinMs: 10 };
  const sockets = lab.topology.nodes.map(({ name }): [string, LogSocket] => [
    name,
    inNamespace(lab.nodeNamespace(name), () => LogSocket.open(group)),
  ]);
  site = { key, lab, kernels: await openKernels(lab), sockets: new Map(sockets) };
  return site;
}

function leave(): void {
  for (const kernel of site?.kernels.values() ?? []) kernel.close();
  for (const socket of site?.sockets.values() ?? []) socket.close();
  site?.lab.remove();
  site = undefined;
}
