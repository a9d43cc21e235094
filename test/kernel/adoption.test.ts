/** An agent that ends leaves its tables without an owner; the next takes them over, and leads them to any layout. */
import { describe, expect, test } from 'vitest';
import { KernelState } from '../../src/agent/kernelstate.ts';
import { compile } from '../../src/compiler/compile.ts';
import { markedRemoved } from '../../src/compiler/removedmark.ts';
import { allowingUnknownPods, unknownPodsIn } from '../../src/compiler/unknownpods.ts';
import { denyUnknownPodsAgain } from '../../src/daemon/denyagain.ts';
import { Batch } from '../../src/kernel/netlink/nftables/batch.ts';
import { MSG, NETLINK_NETFILTER, TABLE } from '../../src/kernel/netlink/nftables/constants.ts';
import { Exchange } from '../../src/kernel/netlink/nftables/exchange.ts';
import { openNftKernel } from '../../src/kernel/netlink/nftables/nft-kernel.ts';
import { Conversation } from '../../src/kernel/netlink/wire/conversation.ts';
import { NetlinkSocket } from '../../src/kernel/netlink/wire/socket.ts';
import type { Address } from '../../src/model/address.ts';
import { ClusterState } from '../../src/model/cluster.ts';
import type { Mac } from '../../src/model/mac.ts';
import type { Kernel } from '../../src/nft/kernel.ts';
import { type MissingFeature, NO_OWNERS } from '../../src/nft/missingfeature.ts';
import { type Op, opText } from '../../src/nft/plan/op.ts';
import { plan } from '../../src/nft/plan/plan.ts';
import {
  type BaseHook,
  type Chain,
  type Ruleset,
  TABLE_FAMILIES,
  type Table,
  type TableFamily,
} from '../../src/nft/ruleset.ts';
import { withoutSizes } from '../support/oracle/withoutsizes.ts';
import type { Netns } from './netns.ts';
import { kernelIn, namespace } from './opened.ts';

/** Base chains of these names, each with one rule. */
function ruleset(
  hooks: Readonly<Record<string, BaseHook>>,
  families: readonly TableFamily[] = ['ip', 'ip6'],
): Ruleset {
  const chains = Object.entries(hooks).map(([name, hook]): [string, Chain] => [
    name,
    { name, hook, rules: [{ exprs: [{ kind: 'verdict', verdict: { kind: 'accept' } }] }] },
  ]);
  const table: Table = { sets: new Map(), chains: new Map(chains) };
  return { tables: new Map(families.map(family => [family, table])) };
}

const FORWARD: BaseHook = { hook: 'forward', priority: 0, policy: 'accept' };
const TODAY = ruleset({ forward: FORWARD });

const NEXT: Readonly<Record<string, Ruleset>> = {
  'another base chain': ruleset({ forward: FORWARD, input: { ...FORWARD, hook: 'input' } }),
  'another priority': ruleset({ forward: { ...FORWARD, priority: 10 } }),
  'another hook': ruleset({ forward: { ...FORWARD, hook: 'output' } }),
  'another policy': ruleset({ forward: { ...FORWARD, policy: 'drop' } }),
  'no base chain': ruleset({}),
  'a table of bridges beside': ruleset({ forward: FORWARD }, TABLE_FAMILIES),
  'the same': TODAY,
};

/** What an agent leaves that ends. */
async function left(netns: Netns, ruleset: Ruleset, without: readonly MissingFeature[] = []): Promise<void> {
  const kernel = await kernelIn(netns, { without });
  await kernel.commit(plan({ tables: new Map() }, ruleset));
  kernel.close();
  await orphaned(netns);
}

/** The kernel hears of the closed socket by and by. */
async function orphaned(netns: Netns): Promise<void> {
  await expect.poll(() => netns.exec('nft', ['list', 'ruleset'])).not.toContain('owner');
}

async function reconciled(kernel: Kernel, desired: Ruleset): Promise<void> {
  const state = new KernelState({
    open: async () => kernel,
    onDrift: () => {},
    now: () => performance.now(),
  });
  await state.reconcile(() => desired, 'dump');
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

test('a table of bridges is taken over with the others, and goes where it is not wanted', async () => {
  const netns = namespace();
  const bridged = ruleset({ forward: FORWARD }, TABLE_FAMILIES);
  const next = ruleset({ forward: FORWARD, input: { ...FORWARD, hook: 'input' } }, TABLE_FAMILIES);
  await left(netns, bridged);
  expect(await (await kernelIn(netns)).owner()).toBe('none');
  for (const desired of [next, bridged, TODAY]) {
    const kernel = await kernelIn(netns);
    await reconciled(kernel, desired);
    expect(withoutSizes((await kernel.dump()).ruleset)).toEqual(desired);
    expect(await kernel.owner()).toBe('us');
    const refused = () => netns.exec('nft', ['delete', 'table', 'bridge', 'sluice']);
    expect(refused).toThrow(desired === TODAY ? /No such file/ : /not permitted/);
    kernel.close();
    await orphaned(netns);
  }
});

test('a table of bridges that somebody puts in our place is ours with the next dump', async () => {
  const netns = namespace();
  const kernel = await kernelIn(netns);
  await reconciled(kernel, TODAY);
  netns.exec('nft', ['add', 'table', 'bridge', 'sluice']);
  await reconciled(kernel, ruleset({ forward: FORWARD }, TABLE_FAMILIES));
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
  expect(await kernel.owner()).toBe('none');
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

const [DORMANT, PERSIST] = [1, 4];

/** What `nft add table ip sluice { flags dormant; }` does; nft 1.0.6 knows no PERSIST, which must stay as it is. */
function putToSleep(netns: Netns, flags: number): void {
  const conversation = new Conversation(netns.run(() => new NetlinkSocket(NETLINK_NETFILTER)));
  const exchange = new Exchange(conversation);
  const batch = new Batch();
  batch.begin(exchange.nextSequence, 0);
  batch.message(MSG.NEWTABLE, 0, 'ip', to => {
    to.string(TABLE.NAME, 'sluice');
    to.u32(TABLE.FLAGS, flags);
  });
  batch.end('last');
  expect(exchange.commitSync(batch)).toMatchObject({ acknowledged: true, errors: [] });
  conversation.close();
}

describe.each([
  ['with owners', [], DORMANT | PERSIST],
  ['without owners', [NO_OWNERS], DORMANT],
] as const)('%s', (_, without, flags) => {
  test('tables that somebody put to sleep while no agent lived are woken', async () => {
    const netns = namespace();
    await left(netns, TODAY, without);
    putToSleep(netns, flags);
    const kernel = await kernelIn(netns, { without });
    await reconciled(kernel, TODAY);
    expect(netns.exec('nft', ['list', 'ruleset'])).not.toContain('dormant');
    expect(withoutSizes((await kernel.dump()).ruleset)).toEqual(TODAY);
  });
});

test('where tables have no owner, one that is put to sleep is seen as one without hooks, and woken', async () => {
  const netns = namespace();
  const kernel = await kernelIn(netns, { without: [NO_OWNERS] });
  const drifts: (readonly Op[])[] = [];
  const state = new KernelState({
    open: async () => kernel,
    onDrift: repair => void drifts.push(repair),
    now: () => performance.now(),
  });
  await state.reconcile(() => TODAY, 'dump');
  putToSleep(netns, DORMANT);
  await state.reconcile(() => TODAY, 'cached');
  expect(drifts.map(ops => ops.map(opText))).toEqual([
    expect.arrayContaining(['add chain ip sluice forward']),
  ]);
  expect(netns.exec('nft', ['list', 'ruleset'])).not.toContain('dormant');
  expect(withoutSizes((await kernel.dump()).ruleset)).toEqual(TODAY);
});

test('what an agent left open that took itself for the last one is closed before its successor has read anything', async () => {
  const netns = namespace();
  const state = new ClusterState();
  const podCidrs = ['10.244.1.0/24', 'fd00:244:1::/64'];
  const podPorts = [{ index: 5, mac: '0a:58:0a:f4:01:05' as Mac, addresses: ['10.244.1.5' as Address] }];
  const links = { uplinks: [2], podBridges: [3], podPorts };
  state.apply({ type: 'node', key: 'n1', value: { name: 'n1', labels: {}, addresses: [], podCidrs, links } });
  const denying = compile(state, 'n1', 'deny');
  const before = await netns.run(() => openNftKernel());
  await before.commit(plan((await before.dump()).ruleset, denying));
  const { ruleset } = await before.dump();
  await before.commit(plan(ruleset, markedRemoved(allowingUnknownPods(ruleset))));
  before.close();
  const successor = await kernelIn(netns);
  expect(unknownPodsIn((await successor.dump()).ruleset)).toBe('allow');
  const lines: string[] = [];
  const log = { warn: (_: object, line: string) => void lines.push(line) };
  await denyUnknownPodsAgain(log as never, () => netns.run(() => openNftKernel()));
  expect(lines).toEqual([expect.stringContaining('as if Sluice were being removed')]);
  const closed = await successor.dump();
  expect(plan(closed.ruleset, denying)).toEqual([]);
  expect(await successor.owner()).toBe('none');
});
