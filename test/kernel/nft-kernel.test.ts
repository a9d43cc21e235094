/** What only the real kernel has: owners, other writers, permissions. */
import { spawnSync } from 'node:child_process';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Kernel, Snapshot } from '../../src/nft/kernel.ts';
import type { Op } from '../../src/nft/plan/op.ts';
import { type ElementKey, type Family, MEMBER, type Ruleset, type SetSpec } from '../../src/nft/ruleset.ts';
import { kernelIn, namespace } from './opened.ts';

const PEERS: SetSpec = { name: 'peers', key: ['ipv4_addr'], verdicts: false, interval: false };
const make = (family: Family, size = 1 << 17): Op[] => [
  { op: 'addTable', family },
  { op: 'addSet', family, set: PEERS, size },
];
const add = (family: Family, ...keys: ElementKey[]): Op => ({
  op: 'addElements',
  family,
  set: PEERS,
  elements: keys.map(key => [key, MEMBER] as const),
});
const del = (family: Family, ...keys: ElementKey[]): Op => ({ op: 'delElements', family, set: PEERS, keys });

test('nobody else can flush or change our tables, and the refusal says who can', async () => {
  const netns = namespace();
  const ours = await kernelIn(netns);
  await ours.commit([...make('ip'), add('ip', '10.0.0.1')]);
  netns.exec('nft', ['flush', 'ruleset']);
  expect(() => netns.exec('nft', ['add', 'element', 'ip', 'sluice', 'peers', '{ 10.0.0.2 }'])).toThrow(
    /not permitted/,
  );
  const stranger = await kernelIn(netns);
  await expect(stranger.commit([add('ip', '10.0.0.2')])).rejects.toMatchObject({
    code: 'EPERM',
    message:
      'EPERM: add element 10.0.0.2 to ip sluice peers: another process owns the table; nothing was changed',
  });
  expect((await stranger.dump()).ruleset).toEqual((await ours.dump()).ruleset);
  expect((await ours.dump()).ruleset.tables.get('ip')!.sets.get('peers')!.elements).toEqual(
    new Map([['10.0.0.1', MEMBER]]),
  );
});

test('our tables outlive us, and the next of us adopts them with its first commit, even an empty one', async () => {
  const netns = namespace();
  const first = await kernelIn(netns);
  const made = await first.commit([...make('ip'), ...make('ip6')]);
  first.close();
  const listed = () => netns.exec('nft', ['list', 'table', 'ip', 'sluice']);
  await expect.poll(listed).not.toContain('owner'); // The kernel hears of the closed socket by and by.

  const second = await kernelIn(netns);
  expect((await second.dump()).ruleset.tables.size).toBe(2);
  expect(await second.commit([])).toBe(made + 1);
  expect(await second.commit([])).toBe(made + 1);
  netns.exec('nft', ['flush', 'ruleset']);
  expect((await second.dump()).ruleset.tables.size).toBe(2);
});

test('a dump shares the elements that are what is known, and those alone', async () => {
  const kernel = await kernelIn(namespace());
  await kernel.commit([...make('ip'), add('ip', '10.0.0.1'), ...make('ip6'), add('ip6', '10.0.0.1')]);
  const known = (await kernel.dump()).ruleset;
  await kernel.commit([del('ip', '10.0.0.1'), add('ip', '10.0.0.2')]); // as many as before
  const { ruleset } = await kernel.dump(known);
  const elements = ({ tables }: Ruleset, family: Family) => tables.get(family)!.sets.get('peers')!.elements;
  expect(elements(ruleset, 'ip')).toEqual(new Map([['10.0.0.2', MEMBER]]));
  expect(elements(ruleset, 'ip6')).toBe(elements(known, 'ip6'));
});

test('tables that somebody else made without an owner are changed like ours', async () => {
  const netns = namespace();
  netns.exec('nft', ['-f', '-'], 'table ip sluice { set peers { type ipv4_addr; size 9; }; }\n');
  const kernel = await kernelIn(netns);
  const generation = await kernel.generation();
  expect(await kernel.commit([])).toBe(generation);
  await kernel.commit([add('ip', '10.0.0.1')]);
  await kernel.commit([{ op: 'delTable', family: 'ip' }, ...make('ip')]);
  expect((await kernel.dump()).ruleset.tables.get('ip')!.sets.get('peers')!.elements.size).toBe(0);
});

test('what nft lists after we are gone is a whole ruleset', async () => {
  const netns = namespace();
  const kernel = await kernelIn(netns);
  await kernel.commit([...make('ip'), add('ip', '10.0.0.1')]);
  kernel.close();
  const listed = () => netns.exec('nft', ['list', 'ruleset']);
  await expect.poll(listed).not.toContain('owner');
  expect(listed()).toContain('elements = { 10.0.0.1 }');
});

test.each([
  ['on threads of their own', Number.POSITIVE_INFINITY],
  ['on the event loop', 0],
])('two writers %s each learn which generations are theirs', async (_, quietMs) => {
  const netns = namespace();
  const [a, b] = [await kernelIn(netns, { quietMs }), await kernelIn(netns, { quietMs })];
  const start = await a.commit(make('ip'));
  const mine = await b.commit(make('ip6'));
  expect(mine).toBe(start + 1);
  const write = async (kernel: Kernel, family: Family) => {
    const made: number[] = [];
    for (let i = 0; i < 150; i++) {
      made.push(await kernel.commit([add(family, '10.0.0.1')]));
      made.push(await kernel.commit([del(family, '10.0.0.1')]));
      if (i % 10 === 0) await setTimeout(0);
    }
    return made;
  };
  const made = (await Promise.all([write(a, 'ip'), write(b, 'ip6')])).flat();
  expect(made.toSorted((x, y) => x - y)).toEqual(made.map((_, i) => mine + 1 + i));
});

test('a commit that expects a generation is refused once somebody else has written', async () => {
  const netns = namespace();
  const kernel = await kernelIn(netns);
  const generation = await kernel.commit(make('ip'));
  netns.exec('nft', ['add', 'table', 'ip', 'other']);
  await expect(kernel.commit([add('ip', '10.0.0.1')], generation)).rejects.toMatchObject({
    code: 'ERESTART',
  });
  expect(await kernel.commit([add('ip', '10.0.0.1')])).toBe(generation + 2);
});

test('a dump during commits of others is of one generation', async () => {
  const netns = namespace();
  const [a, b] = [await kernelIn(netns), await kernelIn(netns)];
  const keys = Array.from({ length: 20_000 }, (_, i) => `10.0.${i >> 8}.${i & 255}`);
  await a.commit([...make('ip'), add('ip', ...keys)]);
  let writing = true;
  let pauseMs = 15;
  let commits = 0;
  const writer = (async () => {
    for (; writing; await setTimeout(pauseMs)) {
      await a.commit([del('ip', ...keys.slice(0, 100)), add('ip', ...keys.slice(0, 100))]);
      commits++;
    }
  })();
  // Where the machine is busy a dump may take longer than the pauses: it says so, and the writer slows down.
  const dump = async (): Promise<Snapshot> => {
    for (;;) {
      const snapshot = await b.dump().catch(undefinedIfInterrupted);
      if (snapshot !== undefined) return snapshot;
      pauseMs *= 2;
    }
  };
  try {
    for (let dumps = 0, before = -1; dumps < 10; dumps++) {
      const { ruleset, generation } = await dump();
      expect(ruleset.tables.get('ip')!.sets.get('peers')!.elements.size).toBe(keys.length);
      expect(generation).toBeGreaterThanOrEqual(before);
      before = generation;
    }
  } finally {
    writing = false;
    await writer;
  }
  expect(commits, 'commits meanwhile').toBeGreaterThan(3);
});

test('a dump that others interrupt once is made at the next attempt, however much there is to read', async () => {
  const netns = namespace();
  const kernel = await kernelIn(netns);
  await kernel.commit(make('ip'));
  // Sixteen megabytes of somebody else's: a dump of chains is one of everybody's.
  const chains = Array.from({ length: 60_000 }, (_, n) => `add chain ip neighbour c${n}${'x'.repeat(200)}`);
  netns.exec('nft', ['-f', '-'], ['add table ip neighbour', ...chains, ''].join('\n'));
  const before = await kernel.generation();
  const dumped = kernel.dump();
  await setImmediate(); // it rests every other millisecond, in the middle of the chains
  netns.exec('nft', ['add', 'table', 'ip', 'another']);
  const { ruleset, generation } = await dumped;
  expect(generation).toBe(before + 1);
  expect([...ruleset.tables.keys()]).toEqual(['ip']);
});

function undefinedIfInterrupted(error: { code?: string }): undefined {
  if (error.code !== 'EAGAIN') throw error;
}

test('a change like one before is refused as clearly as the first, and harms none that follows', async () => {
  const netns = namespace();
  const kernel = await kernelIn(netns, { quietMs: 0 });
  const first = await kernel.commit(make('ip'));
  expect(await kernel.commit([add('ip', '10.0.0.1')])).toBe(first + 1);
  expect(await kernel.commit([add('ip', '10.0.0.2')])).toBe(first + 2);
  expect(await kernel.commit([add('ip', '10.0.0.2')]), 'it exists already').toBe(first + 2);
  expect(await kernel.commit([del('ip', '10.0.0.1')])).toBe(first + 3);
  await expect(kernel.commit([del('ip', '10.0.0.3')])).rejects.toMatchObject({
    code: 'ENOENT',
    message: 'ENOENT: delete element 10.0.0.3 from ip sluice peers: it does not exist; nothing was changed',
  });
  netns.exec('nft', ['add', 'table', 'ip', 'other']);
  await expect(kernel.commit([del('ip', '10.0.0.2')], first + 3)).rejects.toMatchObject({ code: 'ERESTART' });
  expect(await kernel.commit([add('ip', '10.0.0.4')])).toBe(first + 5);
  netns.exec('nft', ['add', 'table', 'ip', 'another']);
  expect(await kernel.commit([del('ip', '10.0.0.4')])).toBe(first + 7);
  const { elements } = (await kernel.dump()).ruleset.tables.get('ip')!.sets.get('peers')!;
  expect([...elements.keys()]).toEqual(['10.0.0.2']);
});

test('a flush of empty chains tells the generation that stands, with a change beside it the one that it made', async () => {
  const kernel = await kernelIn(namespace());
  const chains = ['a', 'b'];
  const flushes = chains.map((chain): Op => ({ op: 'flushChain', family: 'ip', chain }));
  const first = await kernel.commit([
    ...make('ip'),
    ...chains.map((chain): Op => ({ op: 'addChain', family: 'ip', chain })),
  ]);
  expect(await kernel.commit(flushes)).toBe(first);
  expect(await kernel.generation()).toBe(first);
  expect(await kernel.commit([...flushes, add('ip', '10.0.0.1')])).toBe(first + 1);
  expect(await kernel.commit([...flushes, add('ip', '10.0.0.1')]), 'it exists already').toBe(first + 1);
});

test('ten thousand refused elements are one error, and the next commit goes in', async () => {
  const netns = namespace();
  const kernel = await kernelIn(netns);
  await kernel.commit(make('ip'));
  const ops = Array.from({ length: 30_000 }, (_, i) => del('ip', `10.0.${i >> 8}.${i & 255}`));
  const generation = await kernel.generation();
  await expect(kernel.commit(ops)).rejects.toMatchObject({ code: 'ENOENT', op: ops[0] });
  expect(await kernel.commit([add('ip', '10.0.0.1')])).toBe(generation + 1);
});

test('the names in an error are those of the element that was refused', async () => {
  const kernel = await kernelIn(namespace());
  await kernel.commit([...make('ip'), add('ip', '10.0.3.232')]);
  const keys = Array.from({ length: 10_000 }, (_, i) => `10.0.${i >> 8}.${i & 255}`);
  const missing = del('ip', '10.0.3.232', ...keys.slice(2000));
  await expect(kernel.commit([missing])).rejects.toThrow(
    'ENOENT: delete element 10.0.7.208 from ip sluice peers: it does not exist',
  );
});

test('a process without CAP_NET_ADMIN is told so in one sentence', () => {
  const script = `import('${import.meta.dirname}/../../src/kernel/netlink/nftables/nft-kernel.ts')
    .then(({ openNftKernel }) => openNftKernel()).catch(error => console.log(error.name, error.code, error.message))`;
  // Still root: another user may not be able to read this checkout.
  const args = ['--bounding-set=-net_admin', '--inh-caps=-net_admin', process.execPath, '-e', script];
  const { stdout, stderr } = spawnSync('setpriv', args, { encoding: 'utf8', cwd: '/' });
  expect(stdout + stderr).toMatch(
    /^KernelError EPERM EPERM: this process may not use nftables: it needs CAP_NET_ADMIN .*\n$/,
  );
});

test('a closed kernel says that it is closed', async () => {
  const kernel = await kernelIn(namespace());
  const last = kernel.commit(make('ip'));
  kernel.close();
  await expect(last).resolves.toBeGreaterThan(0); // what was asked for before is done
  await expect(kernel.generation()).rejects.toMatchObject({ code: 'EBADF' });
});
