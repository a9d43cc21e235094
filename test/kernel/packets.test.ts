/**
 * Every scenario once more, with real packets: what `compile` makes for each node stands in that node's kernel, and each
 * expected flow is tried between network namespaces. The agent reports each denied attempt in one line with the policy that
 * the reference names, and reports no allowed attempt.
 */
import { afterAll, expect, test } from 'vitest';
import { ipBatch } from '../../bench/lab/ip.ts';
import { buildLab, type Lab } from '../../bench/lab/lab.ts';
import { inNamespace } from '../../bench/lab/netns.ts';
import { probe } from '../../bench/lab/probe/probe.ts';
import { speaksSctp } from '../../bench/lab/probe/sctp.ts';
import { installServices } from '../../bench/lab/services.ts';
import { type Topology, topologyKey } from '../../bench/lab/topology.ts';
import { hostAddresses } from '../../bench/lab/wiring.ts';
import { compile } from '../../src/compiler/compile.ts';
import {
  DENIED_GROUP,
  DENIED_HEAD_BYTES,
  DENIED_PREFIX,
  type DenialLimits,
  withDenialLimits,
} from '../../src/compiler/denied.ts';
import { LogSocket } from '../../src/kernel/netlink/nflog/logsocket.ts';
import type { Address } from '../../src/model/address.ts';
import { type Cluster, isSelectable } from '../../src/model/cluster.ts';
import type { Flow, FlowProtocol } from '../../src/model/flow.ts';
import type { Kernel } from '../../src/nft/kernel.ts';
import { plan } from '../../src/nft/plan/plan.ts';
import type { Denial } from '../../src/observe/denials/denial.ts';
import { DenialRecorder } from '../../src/observe/denials/journal.ts';
import { ModelView } from '../../src/observe/denials/modelview.ts';
import { evaluate, type FlowVerdict } from '../../src/semantics/evaluate.ts';
import { openKernels } from '../support/agent/enforce.ts';
import { eventsOf } from '../support/arbitrary/events.ts';
import { nodeAt } from '../support/oracle/bruteforce.ts';
import { withOwnLinks } from '../support/packets/ownlinks.ts';
import { hairpinOf, probeOf, roundsOf } from '../support/packets/probes.ts';
import { scenarioTopology } from '../support/packets/scenariosite.ts';
import { forgetAll } from '../support/packets/tried.ts';
import {
  type Expectation,
  failure,
  loadScenarios,
  type Moment,
  play,
  type Scenario,
  type Verdict,
} from '../support/scenarios/scenario.ts';

const EVERY: DenialLimits = {
  perSource: { perSecond: 100_000, burst: 100_000 },
  inAll: { perSecond: 100_000, burst: 100_000 },
};

/** The laboratory that stands, the kernels of its nodes, and where they hand over what they deny. */
interface Site {
  readonly key: string;
  readonly lab: Lab;
  readonly kernels: ReadonlyMap<string, Kernel>;
  readonly sockets: ReadonlyMap<string, LogSocket>;
  /** Addresses of the outside, to which moments add theirs. */
  readonly outside: Set<Address>;
}

let site: Site | undefined;
let tried = 0;
let denied = 0;
let lines = 0;

const scenarios = byHosts(loadScenarios().filter(scenario => scenario.packets));

afterAll(() => {
  leave();
  const sctp = speaksSctp() ? 'by sockets of the kernel' : 'in raw packets, because this kernel has none';
  console.log(
    `${tried} flows of ${scenarios.length} scenarios tried with real packets, ${denied} of them denied, in ${lines} lines; SCTP ${sctp}`,
  );
});

test.each(scenarios.map(scenario => [scenario.file, scenario] as const))(
  'packets agree: %s',
  async (_, scenario) => {
    for (const moment of play(scenario)) {
      const here = await siteFor(scenarioTopology(scenario, moment));
      const { verdicts, denials } = await judged(here, scenario, moment);
      expect(wrongVerdicts(scenario, moment, verdicts)).toEqual([]);
      checkLines(scenario, moment, denials);
      lines += denials.length;
    }
  },
);

/** Those that begin with the same hosts beside each other: they share a laboratory. */
function byHosts(all: readonly Scenario[]): Scenario[] {
  const keyOf = (scenario: Scenario) =>
    hostsKey(scenarioTopology(scenario, play(scenario).next().value as Moment));
  return [...Map.groupBy(all, keyOf).values()].flat();
}

interface Judged {
  readonly verdicts: ReadonlyMap<string, Verdict>;
  readonly denials: readonly Denial[];
}

/** Puts the rules of a moment in force on all nodes, has them judge each flow, and takes what the nodes tell of it. */
async function judged(here: Site, scenario: Scenario, moment: Moment): Promise<Judged> {
  const views = await programmed(here, scenario, moment.cluster);
  const recorders = new Map([...views].map(([node, view]) => [node, new DenialRecorder({ view })]));
  for (const socket of here.sockets.values()) socket.read(10_000, () => undefined);
  const services = moment.expectations.flatMap(({ flow }) => hairpinOf(flow) ?? []);
  if (services.length > 0) installServices(here.lab, services);
  const verdicts = await tryAll(here.lab, triedOf(moment));
  for (const [node, socket] of here.sockets)
    socket.read(10_000, packet => {
      expect(packet.prefix).toBe(DENIED_PREFIX);
      recorders.get(node)!.take(packet, Date.now());
    });
  const denials = [...recorders.values()].flatMap(({ journal }) => journal.denials());
  // What is closed behind a probe may be denied as a packet of no known connection.
  return { verdicts, denials: denials.filter(({ cause }) => cause.kind !== 'mid-stream') };
}

/** Puts the rules in force on all nodes; answers what their agents would know. */
async function programmed(
  { lab, kernels }: Site,
  { unknownPods }: Scenario,
  cluster: Cluster,
): Promise<Map<string, ModelView>> {
  const views = new Map<string, ModelView>();
  for (const [node, kernel] of kernels) {
    const { ruleset, generation } = await kernel.dump();
    const seen = await withOwnLinks(cluster, node, lab.nodeNamespace(node));
    const desired = withDenialLimits(compile(seen, node, unknownPods), EVERY);
    await kernel.commit(plan(ruleset, desired), generation);
    const view = new ModelView(seen, { node, unknownPods, now: () => performance.now() });
    for (const event of eventsOf(seen)) view.apply(event);
    views.set(node, view);
  }
  return views;
}

/** A flow that should be open gets a second, longer chance: a busy machine is slow, but it opens nothing. */
async function tryAll(lab: Lab, expectations: readonly Expectation[]): Promise<Map<string, Verdict>> {
  const verdicts = await tryOnce(lab, expectations, 60);
  const late = expectations.filter(
    ({ flow, verdict }) => verdict === 'allow' && verdicts.get(flowText(flow)) === 'deny',
  );
  return late.length === 0 ? verdicts : new Map([...verdicts, ...(await tryOnce(lab, late, 1000))]);
}

async function tryOnce(
  lab: Lab,
  expectations: readonly Expectation[],
  quietMs: number,
): Promise<Map<string, Verdict>> {
  const verdicts = new Map<string, Verdict>();
  for (const round of roundsOf(expectations)) {
    if (round.length === 0) continue;
    forgetAll(lab);
    const probes = round.map(({ flow }) => probeOf(flow));
    for (const [at, outcome] of (await probe(lab, probes, { quietMs })).entries())
      verdicts.set(flowText(round[at]!.flow), outcome === 'open' ? 'allow' : 'deny');
  }
  return verdicts;
}

function wrongVerdicts(scenario: Scenario, moment: Moment, verdicts: ReadonlyMap<string, Verdict>): string[] {
  tried += verdicts.size;
  denied += [...verdicts.values()].filter(verdict => verdict === 'deny').length;
  return moment.expectations.flatMap(({ text, flow, verdict }) => {
    const got = verdicts.get(flowText(flow))!;
    return got === verdict ? [] : [failure(scenario, moment, text, verdict, got)];
  });
}

/** One line for each flow that the scenario has denied, by whom it says and with the names of its ends; and no other. */
function checkLines({ unknownPods }: Scenario, moment: Moment, denials: readonly Denial[]): void {
  const { cluster } = moment;
  const told = Map.groupBy(denials, tellText);
  for (const { flow, text, verdict } of triedOf(moment)) {
    const key = flowText(flow);
    expect(told.get(key)?.map(lineOf) ?? [], text).toEqual(
      verdict === 'allow' ? [] : [expectedLine(cluster, flow, evaluate(cluster, flow, unknownPods))],
    );
    told.delete(key);
  }
  expect([...told.keys()], 'lines that no attempt is behind').toEqual([]);
}

const lineOf = ({ from, to, service, cause: { direction, policy, rule, reason } }: Denial) => ({
  from: from.pod ?? from.node,
  to: to.pod ?? to.node,
  dialled: service?.address,
  by: [direction, policy, rule, reason],
});

function expectedLine(
  cluster: Cluster,
  flow: Flow,
  { egress, ingress }: FlowVerdict,
): ReturnType<typeof lineOf> {
  const isEgress = egress.verdict === 'deny';
  const { policy, rule, reason } = isEgress ? egress : ingress;
  return {
    from: nameOf(cluster, flow.from),
    to: nameOf(cluster, flow.to),
    dialled: tellsDialled() ? hairpinOf(flow)?.front.address : undefined,
    by: [isEgress ? 'egress' : 'ingress', policy, rule, reason],
  };
}

/** Who has the address by the manifests. */
function nameOf(cluster: Cluster, address: Address): string | undefined {
  const pod = [...cluster.pods.values()].find(each => isSelectable(each) && each.addresses.includes(address));
  return pod?.key ?? nodeAt(cluster, address)?.name;
}

/** Each once, however often the scenario has it. */
function triedOf({ expectations }: Moment): Expectation[] {
  return [...new Map(expectations.map(each => [flowText(each.flow), each])).values()];
}

const ICMP: ReadonlySet<FlowProtocol> = new Set([1, 58]);

function flowText({ from, to, protocol, port, viaService = false }: Flow): string {
  return `${from} -> ${to} ${ICMP.has(protocol) ? 'ICMP' : protocol} ${port} ${viaService && from === to}`;
}

function tellText({ from, to, protocol, port }: Denial): string {
  const viaService = from.address === to.address;
  return flowText({
    from: from.address,
    to: to.address,
    protocol,
    viaService,
    ...(port !== undefined && { port }),
  });
}

/** Addresses outside are only added, for what knows nothing of them: they make no other laboratory. */
function hostsKey(topology: Topology): string {
  return topologyKey({ ...topology, outside: [] });
}

async function siteFor(topology: Topology): Promise<Site> {
  const key = hostsKey(topology);
  if (site?.key !== key) {
    leave();
    site = await siteWith(topology, key);
  }
  const { outside, lab } = site!;
  const missing = topology.outside.filter(address => !outside.has(address));
  if (missing.length > 0) await ipBatch(hostAddresses(missing, 'lo'), lab.names.outside);
  for (const address of missing) outside.add(address);
  return site!;
}

async function siteWith(topology: Topology, key: string): Promise<Site> {
  const lab = await buildLab(topology);
  const group = { group: DENIED_GROUP, copyBytes: DENIED_HEAD_BYTES, atOnce: 1, withinMs: 10 };
  const sockets = lab.topology.nodes.map(({ name }): [string, LogSocket] => [
    name,
    inNamespace(lab.nodeNamespace(name), () => LogSocket.open(group)),
  ]);
  const outside = new Set(topology.outside);
  return { key, lab, kernels: await openKernels(lab), sockets: new Map(sockets), outside };
}

/** Some kernels do not (docs/kernels.md): then nobody can say by which Service a pod reached itself. */
function tellsDialled(): boolean {
  return [...site!.sockets.values()].every(socket => socket.tellsDialled);
}

function leave(): void {
  for (const kernel of site?.kernels.values() ?? []) kernel.close();
  for (const socket of site?.sockets.values() ?? []) socket.close();
  site?.lab.remove();
  site = undefined;
}
