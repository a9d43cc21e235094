/**
 * Every scenario once more, with real packets: what `compile` makes for each node stands in that node's kernel,
 * and each expected flow is tried between network namespaces.
 */
import { afterAll, expect, test } from 'vitest';
import { buildLab, type Lab } from '../../bench/lab/lab.ts';
import { probe } from '../../bench/lab/probe/probe.ts';
import { speaksSctp } from '../../bench/lab/probe/sctp.ts';
import { installServices } from '../../bench/lab/services.ts';
import { type Topology, topologyKey } from '../../bench/lab/topology.ts';
import type { Kernel } from '../../src/nft/kernel.ts';
import { enforce, openKernels } from '../support/agent/enforce.ts';
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

const scenarios = loadScenarios().filter(scenario => scenario.packets);

/** The laboratory that stands, and the kernels of its nodes. Scenarios with the same hosts share it. */
interface Site {
  readonly key: string;
  readonly lab: Lab;
  readonly kernels: ReadonlyMap<string, Kernel>;
}

let site: Site | undefined;
let tried = 0;
let denied = 0;

afterAll(() => {
  leave();
  console.log(
    `${tried} flows of ${scenarios.length} scenarios tried with real packets, ${denied} of them denied; SCTP ${speaksSctp() ? 'by sockets of the kernel' : 'in raw packets, because this kernel has none'}`,
  );
});

test.each(scenarios.map(scenario => [scenario.file, scenario] as const))(
  'packets agree: %s',
  async (_, scenario) => {
    const wrong: string[] = [];
    for (const moment of play(scenario)) {
      const { lab } = await program(scenario, moment);
      wrong.push(...(await judge(lab, scenario, moment)));
    }
    expect(wrong).toEqual([]);
  },
);

/** Puts the rules of a moment in force on all nodes, and has them judge every packet anew. */
async function program(scenario: Scenario, moment: Moment): Promise<Site> {
  const { cluster, expectations } = moment;
  const here = await siteFor(scenarioTopology(scenario, moment));
  await enforce(here.lab, here.kernels, cluster, scenario.unknownPods);
  const services = expectations.flatMap(({ flow }) => hairpinOf(flow) ?? []);
  if (services.length > 0) installServices(here.lab, services);
  forgetAll(here.lab);
  return here;
}

async function siteFor(topology: Topology): Promise<Site> {
  const key = topologyKey(topology);
  if (site?.key === key) return site;
  leave();
  const lab = await buildLab(topology);
  site = { key, lab, kernels: await openKernels(lab) };
  return site;
}

function leave(): void {
  for (const kernel of site?.kernels.values() ?? []) kernel.close();
  site?.lab.remove();
  site = undefined;
}

async function judge(lab: Lab, scenario: Scenario, moment: Moment): Promise<string[]> {
  const { expectations } = moment;
  const verdicts = await tryAll(lab, expectations);
  tried += expectations.length;
  denied += verdicts.filter(verdict => verdict === 'deny').length;
  return expectations.flatMap(({ text, verdict }, at) =>
    verdicts[at] === verdict ? [] : [failure(scenario, moment, text, verdict, verdicts[at]!)],
  );
}

/** A flow that should be open gets a second, longer chance: a busy machine is slow, but it opens nothing. */
async function tryAll(lab: Lab, expectations: readonly Expectation[]): Promise<Verdict[]> {
  const verdicts = await tryOnce(lab, expectations, 60);
  const late = expectations.filter(({ verdict }, at) => verdict === 'allow' && verdicts[at] === 'deny');
  if (late.length === 0) return verdicts;
  forgetAll(lab);
  const again = new Map((await tryOnce(lab, late, 1000)).map((verdict, at) => [late[at]!, verdict]));
  return expectations.map((expectation, at) => again.get(expectation) ?? verdicts[at]!);
}

async function tryOnce(lab: Lab, expectations: readonly Expectation[], quietMs: number): Promise<Verdict[]> {
  const verdicts = new Map<Expectation, Verdict>();
  for (const round of roundsOf(expectations)) {
    forgetAll(lab);
    const outcomes = await probe(
      lab,
      round.map(({ flow }) => probeOf(flow)),
      { quietMs },
    );
    for (const [at, expectation] of round.entries())
      verdicts.set(expectation, outcomes[at] === 'open' ? 'allow' : 'deny');
  }
  return expectations.map(expectation => verdicts.get(expectation)!);
}
