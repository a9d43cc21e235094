/** An agent that ends leaves its tables without an owner; the next takes them over, and leads them to any layout. */
import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { KernelState } from '../../src/agent/kernelstate.ts';
import { openNftKernel } from '../../src/netlink/nftables/nft-kernel.ts';
import type { Kernel } from '../../src/nft/kernel.ts';
import { plan } from '../../src/nft/plan/plan.ts';
import type { BaseHook, Chain, Family, Ruleset, Table } from '../../src/nft/ruleset.ts';
import { withoutSizes } from '../support/withoutsizes.ts';
import { Netns } from './netns.ts';

const opened: { close(): void }[] = [];

afterEach(() => {
  for (const one of opened.splice(0)) one.close();
});

function namespace(): Netns {
  const netns = new Netns();
  opened.unshift(netns);
  return netns;
}

async function kernelIn(netns: Netns): Promise<Kernel> {
  const kernel = await netns.run(() => openNftKernel());
  opened.unshift(kernel);
  return kernel;
}

/** Base chains of these names, each with one rule. */
function ruleset(hooks: Readonly<Record<string, BaseHook>>): Ruleset {
  const chains = Object.entries(hooks).map(([name, hook]): [string, Chain] => [
    name,
    { name, hook, rules: [{ exprs: [{ kind: 'verdict', verdict: { kind: 'accept' } }] }] },
  ]);
  const table: Table = { sets: new Map(), chains: new Map(chains) };
  return { tables: new Map([['ip', table] as [Family, Table], ['ip6', table]]) };
}

const FORWARD: BaseHook = { hook: 'forward', priority: 0, policy: 'accept' };
const TODAY = ruleset({ forward: FORWARD });

const NEXT: Readonly<Record<string, Ruleset>> = {
  'another base chain': ruleset({ forward: FORWARD, input: { ...FORWARD, hook: 'input' } }),
  'another priority': ruleset({ forward: { ...FORWARD, priority: 10 } }),
  'another hook': ruleset({ forward: { ...FORWARD, hook: 'output' } }),
  'another policy': ruleset({ forward: { ...FORWARD, policy: 'drop' } }),
  'no base chain': ruleset({}),
  'the same': TODAY,
};

/** What an agent leaves that ends. */
async function left(netns: Netns, ruleset: Ruleset): Promise<void> {
  const kernel = await kernelIn(netns);
  await kernel.commit(plan({ tables: new Map() }, ruleset));
  kernel.close();
  await setTimeout(20); // the kernel hears of the closed socket by and by
}

test.each(Object.entries(NEXT))('the next agent leads what it takes over to %s', async (_, desired) => {
  const netns = namespace();
  await left(netns, TODAY);
  const kernel = await kernelIn(netns);
  const state = new KernelState({
    open: async () => kernel,
    onDrift: () => {},
    now: () => performance.now(),
  });
  await state.reconcile(() => desired, 'dump');
  expect(withoutSizes((await kernel.dump()).ruleset)).toEqual(desired);
  expect(await kernel.owner()).toBe('us');
});

test('a commit that takes tables over says the generation behind both batches', async () => {
  const netns = namespace();
  await left(netns, TODAY);
  const kernel = await kernelIn(netns);
  const { ruleset, generation } = await kernel.dump();
  const ops = plan(ruleset, NEXT['another base chain']!);
  expect(await kernel.commit(ops, generation)).toBe(generation + 2);
  expect(await kernel.generation()).toBe(generation + 2);
});

test('tables stay taken over, with their old rules, where the change behind it is refused', async () => {
  const netns = namespace();
  await left(netns, TODAY);
  const kernel = await kernelIn(netns);
  const missing = { op: 'delChain', family: 'ip', chain: 'missing' } as const;
  await expect(kernel.commit([missing])).rejects.toMatchObject({ code: 'ENOENT', op: missing });
  expect(await kernel.owner()).toBe('us');
  expect(withoutSizes((await kernel.dump()).ruleset)).toEqual(TODAY);
});

test('a take-over is refused where somebody else wrote since the generation that it expects', async () => {
  const netns = namespace();
  await left(netns, TODAY);
  const kernel = await kernelIn(netns);
  const { ruleset, generation } = await kernel.dump();
  netns.exec('nft', ['add', 'table', 'ip', 'other']);
  const ops = plan(ruleset, NEXT['another base chain']!);
  await expect(kernel.commit(ops, generation)).rejects.toMatchObject({ code: 'ERESTART' });
  expect(await kernel.owner()).toBe('nobody');
  expect(await kernel.commit(ops)).toBe(generation + 3);
});

test('one of two that take over at once is told that the tables are the other one’s', async () => {
  const netns = namespace();
  await left(netns, TODAY);
  const [a, b] = [await kernelIn(netns), await kernelIn(netns)];
  await a.commit([]);
  await expect(b.commit([])).rejects.toMatchObject({
    code: 'EPERM',
    message: expect.stringMatching(
      /^EPERM: take over table ip sluice, table ip6 sluice: another process owns the table/,
    ),
  });
});
