/** The rules for answers on nf_tables: taken, read back as they are, listed as nft would have made them. */

import { expect, test } from 'vitest';
import { compile } from '../../../src/compiler/compile.ts';
import type { DnsQueue } from '../../../src/compiler/namespeers.ts';
import { ControlSocket } from '../../../src/daemon/dns/controlsocket.ts';
import { type Address, FAMILIES } from '../../../src/model/address.ts';
import { type Cluster, ClusterState, type Pod } from '../../../src/model/cluster.ts';
import type { Policy } from '../../../src/model/policy.ts';
import { EVERYTHING } from '../../../src/model/selector.ts';
import { type Command, forgetCommandOf } from '../../../src/names/control.ts';
import { formatRuleset } from '../../../src/nft/format/format.ts';
import { objectOf } from '../../../src/nft/plan/op.ts';
import { plan } from '../../../src/nft/plan/plan.ts';
import { mapChains, mapSets, type Ruleset } from '../../../src/nft/ruleset.ts';
import { FakeKernel } from '../../support/kernel/fake.ts';
import type { Netns } from '../netns.ts';
import { closedAfterTest, kernelIn, namespace } from '../opened.ts';

function cluster(...names: string[]): Cluster {
  const state = new ClusterState();
  const pod: Pod = {
    key: 'shop/web',
    namespace: 'shop',
    name: 'web',
    labels: {},
    node: 'n1',
    addresses: ['10.1.0.1', 'fd00::1'] as Address[],
    hostNetwork: false,
    finished: false,
    createdAt: '',
    ports: [],
  };
  const peers = names.map(name => ({ kind: 'domain', name }) as const);
  const policy: Policy = {
    id: 'ClusterNetworkPolicy//logs' as Policy['id'],
    kind: 'ClusterNetworkPolicy',
    name: 'logs',
    tier: 'admin',
    priority: 10,
    subject: { namespaces: { kind: 'labels', selector: EVERYTHING }, pods: EVERYTHING },
    egress: [{ path: 'egress[0]', action: 'accept', peers, ports: 'any' }],
  } as unknown as Policy;
  state.apply({ type: 'namespace', key: 'shop', value: { name: 'shop', labels: {} } });
  state.apply({ type: 'pod', key: pod.key, value: pod });
  state.apply({ type: 'policy', key: policy.id, value: policy });
  return state;
}

const resolvers = ['10.96.0.10', 'fd00::a'] as Address[];
const rulesetOf = (hearing: DnsQueue | undefined, ...names: string[]) =>
  compile(cluster(...names), 'n1', 'allow', 'others', hearing);

function unqueued(ruleset: Ruleset): Ruleset {
  return mapChains(ruleset, chain => ({
    ...chain,
    rules: chain.rules.filter(({ exprs }) => exprs.every(({ kind }) => kind !== 'queue')),
  }));
}

const listing = (netns: Netns) =>
  netns
    .exec('nft', ['list', 'ruleset'])
    .replaceAll(/ # progname .*$/gm, '')
    .replaceAll(/^\tflags owner\n\n?/gm, '')
    .replaceAll(/elements = \{([^}]*)\}/g, (_, list: string) =>
      list
        .split(',')
        .map(text => text.trim())
        .sort()
        .join(),
    );

test('the kernel takes them, gives them back as they are, and lets them go', async () => {
  const kernel = await kernelIn(namespace());
  const { queue } = kernel;
  if (queue === undefined) throw new Error('this kernel has no queue of either kind');
  const desired = rulesetOf({ queue, resolvers }, 'www.example.org', '*.example.net', 'a.example');
  const silent = rulesetOf(undefined, 'www.example.org');
  for (const to of [desired, silent, desired, rulesetOf({ queue, resolvers }, 'b.example'), silent]) {
    const fake = new FakeKernel();
    await fake.commit(plan((await fake.dump()).ruleset, to));
    expect(plan((await fake.dump()).ruleset, to)).toEqual([]);
    await kernel.commit(plan((await kernel.dump()).ruleset, to));
    expect(plan((await kernel.dump()).ruleset, to)).toEqual([]);
  }
  expect([...silent.tables.get('ip')!.sets.keys()].filter(name => name.startsWith('names'))).toEqual([]);
});

test('nft lists them as it would have made them, and loads what it lists', async () => {
  const [ours, theirs] = [namespace(), namespace()];
  const kernel = await kernelIn(ours);
  const desired = unqueued(
    rulesetOf({ queue: 'nft', resolvers }, 'www.example.org', '*.example.net', 'a.example'),
  );
  await kernel.commit(plan((await kernel.dump()).ruleset, desired));
  theirs.exec('nft', ['-f', '-'], formatRuleset((await kernel.dump()).ruleset));
  expect(listing(ours)).toEqual(listing(theirs));
  const different = plan((await (await kernelIn(theirs)).dump()).ruleset, desired);
  expect(different.filter(op => objectOf(op)?.includes('names'))).toEqual([]);
  const again = namespace();
  again.exec(
    'nft',
    ['-f', '-'],
    listing(theirs).includes('names-told')
      ? ours.exec('nft', ['list', 'ruleset']).replaceAll(/flags owner.*$/gm, '')
      : '',
  );
  expect(listing(again)).toEqual(listing(ours));
});

test('the elements of a dynamic set are nobody’s drift, and are read with what is left of them', async () => {
  const netns = namespace();
  const kernel = await kernelIn(netns);
  const desired = unqueued(rulesetOf({ queue: 'nft', resolvers }, 'www.example.org'));
  await kernel.commit(plan((await kernel.dump()).ruleset, desired));
  const name = [...desired.tables.get('ip')!.sets.keys()].find(set => /^names-[0-9A-Z]{20}/.test(set))!;
  kernel.close();
  await new Promise(setImmediate);
  netns.exec('nft', ['add', 'element', 'ip', 'sluice', name, '{ 10.1.0.1 . 192.0.2.1 timeout 10m }']);
  const { ruleset } = await (await kernelIn(netns)).dump();
  const [[key, value]] = [...ruleset.tables.get('ip')!.sets.get(name)!.elements] as [
    [string, { leftMs: number }],
  ];
  expect(key).toBe('10.1.0.1 . 192.0.2.1');
  expect(value.leftMs).toBeGreaterThan(500_000);
  expect(value.leftMs).toBeLessThanOrEqual(600_000);
  expect(plan(ruleset, desired)).toEqual([]);
  for (const family of FAMILIES) expect(ruleset.tables.has(family)).toBe(true);
});

test('a control packet is an element once it was sent; of one that no rule takes its sender knows', async () => {
  const netns = namespace();
  netns.exec('ip', ['link', 'set', 'lo', 'up']);
  netns.exec('ip', ['route', 'add', '10.1.0.0/24', 'dev', 'lo']);
  const kernel = await kernelIn(netns);
  const desired = unqueued(rulesetOf({ queue: 'nft', resolvers }, 'www.example.org'));
  await kernel.commit(plan((await kernel.dump()).ruleset, desired));
  const learn = learnCommand(desired);
  const socket = closedAfterTest(await netns.run(() => new ControlSocket()));
  const told = (command: Command) => socket.tell(command, '10.1.0.1' as Address, '192.0.2.1' as Address);
  const stands = () => netns.exec('nft', ['list', 'ruleset']).includes('10.1.0.1 . 192.0.2.1 ');
  expect([told(learn), stands()]).toEqual([true, true]);
  expect([told(forgetCommandOf(learn)), stands()]).toEqual([true, false]);
  expect([told(learn + 8), stands()]).toEqual([false, false]);
});

test('where a set is full, the element is not there, and its sender knows; what is there is renewed', async () => {
  const netns = namespace();
  netns.exec('ip', ['link', 'set', 'lo', 'up']);
  netns.exec('ip', ['route', 'add', '10.1.0.0/24', 'dev', 'lo']);
  const kernel = await kernelIn(netns);
  const desired = unqueued(rulesetOf({ queue: 'nft', resolvers }, 'www.example.org'));
  await kernel.commit(plan((await kernel.dump()).ruleset, withRoomFor(2, desired)));
  const socket = closedAfterTest(await netns.run(() => new ControlSocket()));
  const told = (last: number) =>
    socket.tell(learnCommand(desired), '10.1.0.1' as Address, `192.0.2.${last}` as Address);
  expect([1, 2, 3, 1, 2].map(told)).toEqual([true, true, false, true, true]);
  expect(netns.exec('nft', ['list', 'ruleset'])).not.toContain('10.1.0.1 . 192.0.2.3 ');
});

/** The same, where each set of names takes no more elements. */
function withRoomFor(size: number, ruleset: Ruleset): Ruleset {
  return mapSets(ruleset, set =>
    /^names-[0-9A-Z]{20}/.test(set.name) ? { ...set, dynamic: { ...set.dynamic!, size } } : set,
  );
}

/** Of the only set of names. */
function learnCommand({ tables }: Ruleset): Command {
  for (const [key, value] of tables.get('ip')!.sets.get('names-told')!.elements)
    if (JSON.stringify(value).includes('learn-names')) {
      const [source, destination] = key.split(' . ').map(Number) as [number, number];
      return source * 2 ** 16 + destination;
    }
  throw new Error('nothing is to be learnt');
}
