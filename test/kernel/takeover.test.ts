/**
 * Take-over of every layout that a released agent left, and of one as the next could be, by the agent of today, and back:
 * while packets are sent, of which not one is judged wrong and none that is allowed is lost.
 */
import { spawnSync } from 'node:child_process';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Lab } from '../../bench/lab/lab.ts';
import { inNamespace } from '../../bench/lab/netns.ts';
import { Agent } from '../../src/agent/agent.ts';
import { KernelState } from '../../src/agent/kernelstate.ts';
import { compile } from '../../src/compiler/compile.ts';
import { LAYOUT } from '../../src/compiler/layout.ts';
import { Incremental } from '../../src/compiler/live/incremental.ts';
import { plan } from '../../src/nft/plan/plan.ts';
import type { Ruleset } from '../../src/nft/ruleset.ts';
import {
  layoutCluster,
  layoutEvents,
  nextLayout,
  orphaned,
  putUp,
  type RecordedLayout,
  recordedLayouts,
  rulesetOf,
} from '../support/agent/layouts.ts';
import { answers, Telephones } from '../support/agent/live.ts';
import { withoutSizes } from '../support/oracle/withoutsizes.ts';
import { arrivals, Prober } from '../support/packets/prober.ts';
import { ALLOWED_PORT, buildSite, FIRM_FLOWS, HOSTS, NODE, openIn } from '../support/packets/site.ts';

const ROUNDS = 5;

const RECORDED = recordedLayouts();
const EVENTS = layoutEvents();
const TODAY = compile(layoutCluster(), NODE);
const NEXT = nextLayout(TODAY);
const LAYOUTS = [...RECORDED, NEXT];
/** The first that was recorded: before there was a release, the number was counted up all the same. */
const FIRST = 4;

let lab: Lab;
let prober: Prober | undefined;
let telephones: Telephones;

/** Connections that policy allows, and that stay open. */
const OPEN = ([0, 1] as const).map(family => ({ from: HOSTS.x[family], to: HOSTS.t[family], port: 80 }));

beforeAll(async () => {
  lab = await buildSite('takeover');
  telephones = new Telephones(lab);
});

afterEach(async () => {
  prober?.kill();
  prober = undefined;
  telephones.close();
  await clear();
});

afterAll(() => lab?.remove());

const ownerGone = () => orphaned(() => openIn(lab));

async function clear(): Promise<void> {
  const kernel = await openIn(lab);
  const { ruleset } = await kernel.dump();
  await kernel.commit([...ruleset.tables.keys()].map(family => ({ op: 'delTable', family })));
  kernel.close();
}

/** An agent of today, from its start to its first commit; answers what it said. */
async function takenOver(): Promise<string[]> {
  const stop = new AbortController();
  const said: string[] = [];
  const line = (_: object, message: string) => {
    said.push(message);
    stop.abort();
  };
  const agent = new Agent({
    open: () => openIn(lab),
    engine: () => new Incremental(NODE),
    log: { debug: line, info: line, warn: line, error: line },
  });
  agent.apply(EVENTS);
  await agent.run(stop.signal);
  await ownerGone();
  return said;
}

/** An agent that desires another layout does the same. */
async function wentBack(desired: Ruleset): Promise<void> {
  const kernel = await openIn(lab);
  const state = new KernelState({
    open: async () => kernel,
    onDrift: () => {},
    now: () => performance.now(),
  });
  await state.reconcile(() => desired, 'dump');
  expect(await kernel.owner()).toBe('us');
  state.close();
  await ownerGone();
}

async function inKernel(): Promise<Ruleset> {
  const kernel = await openIn(lab);
  try {
    return withoutSizes((await kernel.dump()).ruleset);
  } finally {
    kernel.close();
  }
}

async function expectNoneJudgedWrong(): Promise<void> {
  await prober!.more(500);
  const trails = await prober!.stop();
  for (const [index, { from, to, port }] of FIRM_FLOWS.entries()) {
    const trail = trails[index]!;
    const expected = port === ALLOWED_PORT ? trail.sent : 0;
    expect(arrivals(trail), `${from} -> ${to}:${port}: ${JSON.stringify(trail.arrived.slice(0, 5))}`).toBe(
      expected,
    );
  }
}

test('layouts before ours were recorded', () => {
  const before = Array.from({ length: Math.max(1, LAYOUT - FIRST) }, (_, n) => FIRST + n);
  expect(RECORDED.map(({ layout }) => layout)).toEqual(expect.arrayContaining(before));
});

test.each(LAYOUTS)('the agent of today takes layout $layout of $commit over, and back', async layout => {
  const theirs = await rulesetOf(layout);
  const endPredecessor = inNamespace(lab.nodeNamespace(NODE), () => putUp(layout));
  const connections = await Promise.all(OPEN.map(dial => telephones.tcp(dial)));
  prober = await Prober.start(lab, FIRM_FLOWS);
  endPredecessor();
  await ownerGone();
  for (let round = 0; round < ROUNDS; round++) {
    const said = await takenOver();
    expect(said).toEqual(
      layout.layout === LAYOUT ? [expect.stringMatching(/^rules in force/)] : [takeOverText(layout)],
    );
    expect(plan(await inKernel(), TODAY)).toEqual([]);
    await wentBack(theirs);
    expect(plan(await inKernel(), theirs)).toEqual([]);
    for (const connection of connections) expect(await answers(connection)).toBe(true);
  }
  await expectNoneJudgedWrong();
});

test('an agent that was killed behind the take-over, before its difference, leaves the next a way on', async () => {
  inNamespace(lab.nodeNamespace(NODE), () => putUp(NEXT))();
  await ownerGone();
  prober = await Prober.start(lab, FIRM_FLOWS);
  for (let n = 0; n < 5; n++) expect(killedBehindTakeOver()).toBe('SIGKILL');
  expect(plan(await inKernel(), await rulesetOf(NEXT))).toEqual([]);
  await ownerGone();
  expect(await takenOver()).toEqual([takeOverText(NEXT)]);
  expect(plan(await inKernel(), TODAY)).toEqual([]);
  await expectNoneJudgedWrong();
});

/** The batch that takes the tables over is what an empty one does: behind it the process is no more. */
function killedBehindTakeOver(): string | null {
  const script = `import('${import.meta.dirname}/../../src/kernel/netlink/nftables/nft-kernel.ts')
    .then(({ openNftKernel }) => openNftKernel())
    .then(async kernel => { await kernel.commit([]); process.kill(process.pid, 'SIGKILL'); })`;
  return inNamespace(lab.nodeNamespace(NODE), () => spawnSync(process.execPath, ['-e', script], { cwd: '/' }))
    .signal;
}

const takeOverText = ({ layout }: RecordedLayout) =>
  `rules in force: another agent left tables of layout ${layout}, which are of layout ${LAYOUT} now`;

test('from each layout to each other, by agents that end as soon as they have committed', async () => {
  const rulesets = [TODAY, ...(await Promise.all(LAYOUTS.map(rulesetOf)))];
  await wentBack(TODAY);
  prober = await Prober.start(lab, FIRM_FLOWS);
  for (const from of rulesets)
    for (const to of rulesets) {
      await wentBack(from);
      await wentBack(to);
      expect(plan(await inKernel(), to)).toEqual([]);
    }
  await expectNoneJudgedWrong();
});
