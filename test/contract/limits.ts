/** How much a kernel takes (src/nft/limits.ts): what is at a limit goes in, what is over it is refused. */
import { expect } from 'vitest';
import {
  fitsRule,
  MAX_COMMENT_BYTES,
  MAX_EXPRESSIONS,
  MAX_NAME_BYTES,
  MAX_SET_SIZE,
} from '../../src/nft/limits.ts';
import { limitOver, logTo, verdict } from '../../src/nft/match.ts';
import type { Op } from '../../src/nft/plan/op.ts';
import type { Expr, NftRule, SetSpec } from '../../src/nft/ruleset.ts';
import {
  addChain,
  addElements,
  addRule,
  addSet,
  addTable,
  delChain,
  delElements,
  delSet,
  type Entry,
  elementsOf,
  flushChain,
  members,
  PEERS,
  PODS,
  type PromiseOf,
  refused,
} from './steps.ts';

export function limits(promise: PromiseOf): void {
  rules(promise);
  names(promise);
  comments(promise);
  sets(promise);
  depths(promise);
}

// What the others read: the kernel may refuse to read a register that was not written.
const LOADS: readonly Expr[] = [
  { kind: 'payload', base: 'network', offset: 8, length: 16, dreg: 0 },
  { kind: 'payload', base: 'network', offset: 8, length: 16, dreg: 4 },
];

const cmp = (op: 'eq' | 'neq' | 'lt' | 'gte', bytes: number, sreg = 0): Expr => ({
  kind: 'cmp',
  sreg,
  op,
  data: '01'.repeat(bytes),
});
const bitwise = (bytes: number): Expr => ({
  kind: 'bitwise',
  sreg: 0,
  dreg: 0,
  mask: 'f0'.repeat(bytes),
  xor: '00'.repeat(bytes),
});

const KINDS: Readonly<Record<string, Expr>> = {
  counter: { kind: 'counter' },
  'ct state': { kind: 'ct', key: 'state', dreg: 0 },
  'meta l4proto': { kind: 'meta', key: 'l4proto', dreg: 0 },
  'meta iif': { kind: 'meta', key: 'iif', dreg: 0 },
  payload: { kind: 'payload', base: 'transport', offset: 2, length: 2, dreg: 0 },
  'bitwise of 4 bytes': bitwise(4),
  'bitwise of 16 bytes': bitwise(16),
  'cmp of 1 byte': cmp('eq', 1),
  'cmp of 4 bytes': cmp('neq', 4),
  'cmp of 8 bytes': cmp('eq', 8),
  'cmp of 16 bytes': cmp('neq', 16),
  'cmp of 16 bytes in the second register': cmp('eq', 16, 1),
  'cmp of 16 bytes in the third register': cmp('eq', 16, 2),
  'cmp of an order': cmp('lt', 2),
  'cmp of an order of 16 bytes': cmp('gte', 16),
  lookup: { kind: 'lookup', set: 'peers', sreg: 0, vmap: false, invert: false },
  'lookup in a map': { kind: 'lookup', set: 'pods', sreg: 0, vmap: true, invert: false },
  log: logTo({ group: 7, prefix: 'denied: ', snaplen: 128 }),
  limit: limitOver({ perSecond: 5, burst: 10 }),
  verdict: verdict('accept'),
  jump: verdict('jump', 'other'),
};

function rules(promise: PromiseOf): void {
  for (const [name, expr] of Object.entries(KINDS))
    promise(`a rule takes as many expressions "${name}" as fit, and not one more`, async kernel => {
      const most = mostOf(expr);
      await kernel.commit([addTable(), addSet(PEERS), addSet(PODS), addChain('other'), addChain('c')]);
      const rule = (count: number) => addRule('c', [...LOADS, ...repeated(expr, count)]);
      await refused(kernel, tooMany(most + 1), [rule(most + 1)], 0);
      await kernel.commit([rule(most)]);
    });
}

/** How many of `expr` a rule takes behind LOADS. */
function mostOf(expr: Expr): number {
  let count = 0;
  while (fitsRule([...LOADS, ...repeated(expr, count + 1)])) count++;
  expect(count, 'the table of sizes').toBeGreaterThan(50);
  return count;
}

function tooMany(count: number): string {
  return LOADS.length + count > MAX_EXPRESSIONS ? 'EINVAL' : 'EFBIG';
}

function repeated(expr: Expr, count: number): Expr[] {
  return Array.from({ length: count }, () => expr);
}

function names(promise: PromiseOf): void {
  for (const bytes of [MAX_NAME_BYTES + 1, 70_000])
    promise(`a name of ${bytes} bytes is refused with ERANGE, whatever names it`, async kernel => {
      await kernel.commit([addTable(), addChain('c'), addSet(PODS)]);
      for (const op of stepsNaming('n'.repeat(bytes))) await refused(kernel, 'ERANGE', [op], 0);
    });

  promise('the length of a name is that of its bytes, not of its letters', async kernel => {
    const name = 'ü'.repeat(127);
    await kernel.commit([addTable(), addChain(name), addSet({ ...PEERS, name })]);
    await refused(kernel, 'ERANGE', [addChain(`${name}ü`)], 0);
    await refused(kernel, 'ERANGE', [addSet({ ...PEERS, name: `${name}ü` })], 0);
  });
}

function stepsNaming(name: string): Op[] {
  const set: SetSpec = { ...PEERS, name };
  return [
    addChain(name),
    flushChain(name),
    delChain(name),
    addRule(name, [verdict('drop')]),
    addRule('c', [verdict('jump', name)]),
    addRule('c', [...LOADS, { kind: 'lookup', set: name, sreg: 0, vmap: false, invert: false }]),
    addSet(set),
    delSet(name),
    addElements(set, ['10.0.0.1']),
    delElements(set, ['10.0.0.1']),
    addElements(PODS, [['10.0.0.1', { verdict: { kind: 'goto', chain: name } }]]),
  ];
}

function comments(promise: PromiseOf): void {
  const longest = 'c'.repeat(MAX_COMMENT_BYTES);

  promise('comments may have 127 bytes', async kernel => {
    const rule: NftRule = { exprs: [verdict('drop')], comment: longest };
    await kernel.commit([
      addTable(),
      addChain('c'),
      { op: 'addRule', family: 'ip', chain: 'c', rule },
      addSet({ ...PEERS, comment: longest }),
      addElements(PEERS, [['10.0.0.1', { comment: longest }]]),
    ]);
    const table = (await kernel.dump()).ruleset.tables.get('ip')!;
    expect(table.chains.get('c')!.rules).toEqual([rule]);
    expect(table.sets.get('peers')).toMatchObject({ comment: longest });
    expect(await elementsOf(kernel, 'peers')).toEqual(new Map([['10.0.0.1', { comment: longest }]]));
  });

  for (const comment of [`${longest}c`, 'ü'.repeat(64), 'c'.repeat(70_000)])
    promise(`a comment of ${Buffer.byteLength(comment)} bytes is refused with ERANGE`, async kernel => {
      const rule: NftRule = { exprs: [verdict('drop')], comment };
      await kernel.commit([addTable(), addChain('c'), addSet(PEERS)]);
      await refused(kernel, 'ERANGE', [{ op: 'addRule', family: 'ip', chain: 'c', rule }], 0);
      await refused(kernel, 'ERANGE', [addSet({ ...PEERS, name: 'other', comment })], 0);
      await refused(kernel, 'ERANGE', [addElements(PEERS, ['10.0.0.1', ['10.0.0.2', { comment }]])], 0);
    });
}

function sets(promise: PromiseOf): void {
  const keyed = (...key: SetSpec['key']): SetSpec => ({ ...PEERS, name: 'keyed', key });

  promise('a key has at most five fields and 64 bytes', async kernel => {
    const PORT = 'inet_service';
    await kernel.commit([addTable(), addSet(keyed(PORT, PORT, PORT, PORT, PORT)), delSet('keyed')]);
    await refused(kernel, 'ERANGE', [addSet(keyed(PORT, PORT, PORT, PORT, PORT, PORT))], 0);
    const ADDRESS = 'ipv6_addr';
    await kernel.commit([addSet(keyed(ADDRESS, ADDRESS, ADDRESS, ADDRESS)), delSet('keyed')]);
    await refused(kernel, 'EINVAL', [addSet(keyed(ADDRESS, ADDRESS, ADDRESS, ADDRESS, PORT))], 0);
  });

  promise('a size of zero is no limit', async kernel => {
    await kernel.commit([addTable(), addSet(PEERS, 0), addElements(PEERS, ['10.0.0.1', '10.0.0.2'])]);
    const set = (await kernel.dump()).ruleset.tables.get('ip')!.sets.get('peers')!;
    expect(set.elements).toEqual(members('10.0.0.1', '10.0.0.2'));
    expect(set.size).toBeUndefined();
  });

  promise('a size is a number of 31 bits', async kernel => {
    const nets: SetSpec = { ...PEERS, name: 'nets', interval: true };
    await kernel.commit([addTable(), addSet(nets, MAX_SET_SIZE)]);
    expect((await kernel.dump()).ruleset.tables.get('ip')!.sets.get('nets')!.size).toBe(MAX_SET_SIZE);
    await refused(kernel, 'ERANGE', [addSet(PEERS, MAX_SET_SIZE + 1)], 0);
  });

  // Kernels differ in whether an interval counts once or twice.
  promise(
    'an interval set takes half as many intervals as its size, and never more than it',
    async kernel => {
      const nets: SetSpec = { ...PEERS, name: 'nets', interval: true };
      const network = (n: number) => `10.${2 * n}.0.0/16`;
      await kernel.commit([addTable(), addSet(nets, 4), addElements(nets, [0, 1].map(network))]);
      await refused(kernel, 'ENFILE', [addElements(nets, [2, 3, 4].map(network))], 0);
    },
  );
}

function depths(promise: PromiseOf): void {
  const chains = Array.from({ length: 17 }, (_, i) => `c${i}`);
  const hook = { hook: 'forward', priority: 0, policy: 'accept' } as const;
  const base: Op[] = [
    addTable(),
    { op: 'addChain', family: 'ip', chain: 'base', hook },
    ...chains.map(name => addChain(name)),
    addRule('base', [verdict('jump', 'c0')]),
  ];
  const next = (i: number) => addRule(`c${i}`, [verdict(i % 2 ? 'goto' : 'jump', `c${i + 1}`)]);
  const steps = (count: number) => Array.from({ length: count }, (_, i) => next(i));

  promise('jumps and gotos lead 15 chains away, and the 16th is refused by its step', async kernel => {
    await kernel.commit([...base, ...steps(14)]);
    await refused(kernel, 'EMLINK', [addChain('x'), next(14), addChain('y'), next(15)], 1);
  });

  promise('the step that is one too deep is named also where it comes before the others', async kernel => {
    await kernel.commit(base);
    const backwards = steps(15).toReversed();
    await refused(kernel, 'EMLINK', [addChain('x'), ...backwards, addChain('y')], backwards.length);
  });

  promise('a table that is made too deep is refused by the step that makes it so', async kernel => {
    await refused(kernel, 'EMLINK', [...base, ...steps(15), addChain('y')], base.length + 14);
  });

  promise('an element that leads too deep is refused by its step', async kernel => {
    const load: Expr = { kind: 'payload', base: 'network', offset: 12, length: 4, dreg: 0 };
    const lookup: Expr = { kind: 'lookup', set: 'pods', sreg: 0, vmap: true, invert: false };
    await kernel.commit([...base, ...steps(14), addSet(PODS), addRule('c14', [load, lookup])]);
    const entry = (chain: string): Entry => ['10.0.0.1', { verdict: { kind: 'goto', chain } }];
    const plain: Op = {
      op: 'addElements',
      family: 'ip',
      set: PODS,
      elements: [['10.0.0.9', { verdict: { kind: 'drop' } }]],
    };
    await refused(kernel, 'EMLINK', [plain, addElements(PODS, [entry('c15')]), addChain('y')], 1);
  });
}
