/** Agents that are killed (SIGKILL) anywhere between two layouts: no packet is judged wrong, and the next finds its way. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Lab } from '../../bench/lab/lab.ts';
import { inNamespace } from '../../bench/lab/netns.ts';
import { KernelState } from '../../src/agent/kernelstate.ts';
import { compile } from '../../src/compiler/compile.ts';
import { plan } from '../../src/nft/plan/plan.ts';
import type { Ruleset } from '../../src/nft/ruleset.ts';
import { layoutCluster, orphaned, otherLayout } from '../support/agent/layouts.ts';
import { withoutSizes } from '../support/oracle/withoutsizes.ts';
import { arrivals, Prober } from '../support/packets/prober.ts';
import { ALLOWED_PORT, buildSite, FIRM_FLOWS, NODE, openIn } from '../support/packets/site.ts';
import { until } from '../support/until.ts';

const KILLS = 6;
const WALKER = fileURLToPath(new URL('../support/agent/layoutwalker.ts', import.meta.url));

let lab: Lab;
let prober: Prober | undefined;
let walker: ChildProcess | undefined;

beforeAll(async () => {
  lab = await buildSite('killed');
});

afterEach(() => {
  walker?.kill('SIGKILL');
  prober?.kill();
});

afterAll(() => lab?.remove());

function today(): Ruleset {
  const state = layoutCluster();
  return compile(state, NODE);
}

/** An agent of today that ends as soon as it has committed; answers what it found. */
async function ledToToday(): Promise<Ruleset> {
  const kernel = await openIn(lab);
  const state = new KernelState({
    open: async () => kernel,
    onDrift: () => {},
    now: () => performance.now(),
  });
  const { ruleset } = await kernel.dump();
  await state.reconcile(today, 'dump');
  expect(withoutSizes((await kernel.dump()).ruleset)).toEqual(today());
  expect(await kernel.owner()).toBe('us');
  state.close();
  await orphaned(() => openIn(lab));
  return ruleset;
}

/** Kills a walker on its way behind so many turns. */
async function killAWalker(turns: number): Promise<void> {
  const child = inNamespace(lab.nodeNamespace(NODE), () =>
    spawn(process.execPath, [WALKER, NODE], { stdio: ['ignore', 'pipe', 'inherit'] }),
  );
  walker = child;
  let said = '';
  child.stdout.on('data', text => (said += text));
  await until('the walker has walked', () => said.split('\n').length > turns + 1);
  child.kill('SIGKILL');
  const [code, signal] = await once(child, 'exit');
  expect([code, signal]).toEqual([null, 'SIGKILL']);
  await orphaned(() => openIn(lab));
}

test(`${KILLS} agents are killed on their way, and not one packet is judged wrong`, async () => {
  await ledToToday();
  prober = await Prober.start(lab, FIRM_FLOWS);
  const found = new Set<string>();
  // A few more where chance found all of them in one layout.
  for (let n = 0; n < KILLS || (found.size < 2 && n < 4 * KILLS); n++) {
    await killAWalker(n % 3);
    const ruleset = await ledToToday();
    found.add(
      [today(), otherLayout(today())].findIndex(layout => plan(ruleset, layout).length === 0).toString(),
    );
  }
  expect(found.size, 'kills found the walkers in one place only').toBeGreaterThan(1);
  await prober.more(500);
  const trails = await prober.stop();
  for (const [index, { from, to, port }] of FIRM_FLOWS.entries()) {
    const trail = trails[index]!;
    const label = `${from} -> ${to}:${port}: ${JSON.stringify(trail.arrived.slice(0, 5))}`;
    expect(arrivals(trail), label).toBe(port === ALLOWED_PORT ? trail.sent : 0);
  }
});
