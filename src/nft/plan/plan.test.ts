import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rulesetArbitrary, rulesetsArbitrary } from '../../../test/support/arbitrary/rulesets.ts';
import { FakeKernel } from '../../../test/support/kernel/fake.ts';
import { NOTHING, walkThrough } from '../../../test/support/oracle/transitions.ts';
import { runs } from '../../../test/support/seed.ts';
import { addressIn, addressVmap, verdict } from '../match.ts';
import { type Chain, type Elements, MEMBER, type NftRule, type NftSet, type Ruleset } from '../ruleset.ts';
import { type Op, opText } from './op.ts';
import { applied, plan } from './plan.ts';
import { roomFor } from './size.ts';

describe('plan()', () => {
  it('leads from any ruleset to any other, and then has nothing left to do', async () => {
    const seen = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(rulesetsArbitrary(), async rulesets => {
        for (const ops of await walkThrough(new FakeKernel(), rulesets)) count(seen, ops);
      }),
      { numRuns: runs(1200) },
    );
    for (const what of WORTH_SEEING) expect(seen.get(what) ?? 0, what).toBeGreaterThan(runs(50));
  });

  it('has nothing to do between a ruleset and its deep copy', () => {
    fc.assert(
      fc.property(rulesetArbitrary(), ruleset => {
        expect(plan(ruleset, structuredClone(ruleset))).toEqual([]);
      }),
    );
  });

  it('makes a table with everything in it: chains before what leads to them, sets before rules', () => {
    expect(texts(NOTHING, web())).toEqual([
      'add table ip sluice',
      'add chain ip sluice forward',
      'add chain ip sluice in-web',
      'add map ip sluice pods',
      'add set ip sluice peers',
      'add 1 elements to ip sluice pods',
      'add 2 elements to ip sluice peers',
      'add rule ip sluice forward',
      'add rule ip sluice in-web',
      'add rule ip sluice in-web',
    ]);
  });

  it('takes a whole table away where none is wanted', () => {
    expect(texts(web(), NOTHING)).toEqual(['delete table ip sluice']);
  });

  it('deletes a chain only after the element that jumps to it', () => {
    const without = ruleset([map({}), peers(['10.0.0.1', '10.0.0.2'])], [forward()]);
    expect(texts(web(), without)).toEqual([
      'flush chain ip sluice in-web',
      'delete 1 elements from ip sluice pods',
      'delete chain ip sluice in-web',
    ]);
  });

  it('touches nothing but the one element that differs', () => {
    const more = ruleset([map(JUMP), peers(['10.0.0.2', '10.0.0.3'])], [forward(), inWeb()]);
    expect(plan(web(), more)).toMatchObject([
      { op: 'delElements', keys: ['10.0.0.1'] },
      { op: 'addElements', elements: [['10.0.0.3', MEMBER]] },
    ]);
  });

  it('takes an element out and puts it back where its verdict or its comment changes', () => {
    for (const value of [
      { verdict: { kind: 'drop' } },
      { ...JUMP['10.0.0.9'], comment: 'shop/web' },
    ] as const) {
      const changed = ruleset(
        [map({ '10.0.0.9': value }), peers(['10.0.0.1', '10.0.0.2'])],
        [forward(), inWeb()],
      );
      expect(plan(web(), changed)).toMatchObject([
        { op: 'delElements', keys: ['10.0.0.9'] },
        { op: 'addElements', elements: [['10.0.0.9', value]] },
      ]);
    }
  });

  it('refills a chain whose rules differ, also by a comment alone', () => {
    const commented: NftRule = { exprs: [verdict('drop')], comment: 'isolated' };
    const changed = ruleset([map(JUMP), peers(['10.0.0.1', '10.0.0.2'])], [forward(), inWeb(commented)]);
    expect(texts(web(), changed)).toEqual([
      'flush chain ip sluice in-web',
      'add rule ip sluice in-web',
      'add rule ip sluice in-web',
    ]);
  });

  it('creates a base chain again if its hook differs', () => {
    const changed = ruleset([map(JUMP), peers(['10.0.0.1', '10.0.0.2'])], [forward(7), inWeb()]);
    expect(texts(web(), changed)).toEqual([
      'flush chain ip sluice forward',
      'delete chain ip sluice forward',
      'add chain ip sluice forward',
      'add rule ip sluice forward',
    ]);
  });

  it('creates a set again if its comment differs, and refills the chains that look it up', () => {
    const commented = { ...peers(['10.0.0.1', '10.0.0.2']), comment: 'app=web' };
    expect(texts(web(), ruleset([map(JUMP), commented], [forward(), inWeb()]))).toEqual([
      'flush chain ip sluice in-web',
      'delete set ip sluice peers',
      'add set ip sluice peers',
      'add 2 elements to ip sluice peers',
      'add rule ip sluice in-web',
      'add rule ip sluice in-web',
    ]);
  });

  it('refills the chains that look up a set that is created again, also if no chain has changed', () => {
    const { sets, chains } = web().tables.get('ip')!;
    const commented = new Map(sets).set('peers', { ...sets.get('peers')!, comment: 'app=web' });
    const of = (its: typeof sets): Ruleset => ({ tables: new Map([['ip', { sets: its, chains }]]) });
    expect(texts(of(sets), of(commented))).toContain('flush chain ip sluice in-web');
  });

  it('never deletes single intervals: a set of networks is created again', () => {
    const nets = (...keys: string[]) => ruleset([{ ...peers(keys), interval: true }], [inWeb()]);
    expect(texts(nets('10.0.0.0/8', '12.0.0.0/8'), nets('10.0.0.0/8'))).toEqual([
      'flush chain ip sluice in-web',
      'delete set ip sluice peers',
      'add set ip sluice peers',
      'add 1 elements to ip sluice peers',
      'add rule ip sluice in-web',
      'add rule ip sluice in-web',
    ]);
  });

  it('creates a set again, with twice the size, if the desired elements do not fit', async () => {
    const room = roomFor('peers', 100);
    const full = applied(NOTHING, ruleset([peers(addresses(room))], [inWeb()]));
    const kernel = new FakeKernel();
    await kernel.commit(plan(NOTHING, ruleset([peers(addresses(100))], [inWeb()])));
    const { ruleset: actual } = await kernel.dump();
    const wanted = (count: number) => ruleset([peers(addresses(count))], [inWeb()]);
    expect(plan(actual, wanted(room)).map(({ op }) => op)).toEqual(['addElements']);
    const size = roomFor('peers', room + 1);
    expect(size).toBeGreaterThan(2 * room);
    expect(plan(actual, wanted(room + 1))).toContainEqual(expect.objectContaining({ op: 'addSet', size }));
    expect(plan(full, wanted(room + 1)).map(({ op }) => op)).toEqual(['addElements']);
    await kernel.commit(plan(actual, wanted(room + 1)));
    expect((await kernel.dump()).ruleset.tables.get('ip')!.sets.get('peers')!.size).toBe(size);
  });

  it('compares 100,000 elements that are the same object without looking at them', () => {
    const { elements } = peers(addresses(100_000));
    const looked = new Proxy(elements, { get: () => expect.fail('looked at the elements') }) as Elements;
    const before = ruleset([{ ...peers([]), elements: looked }], [inWeb()]);
    const after = ruleset([{ ...peers([]), elements: looked }], [inWeb({ exprs: [verdict('accept')] })]);
    expect(plan(before, after).map(({ op }) => op)).toEqual(['flushChain', 'addRule', 'addRule']);
  });
});

const WORTH_SEEING = [
  'addTable',
  'delTable',
  'addSet',
  'delSet',
  'addChain',
  'delChain',
  'flushChain',
  'addRule',
  'addElements',
  'delElements',
  'a set made anew',
  'a chain made anew',
  'an element put back',
];

function count(seen: Map<string, number>, ops: readonly Op[]): void {
  const add = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
  for (const { op } of ops) add(op);
  for (const op of ops) {
    if (op.op === 'addSet' && ops.some(other => other.op === 'delSet' && other.set === op.set.name))
      add('a set made anew');
    if (op.op === 'addChain' && ops.some(other => other.op === 'delChain' && other.chain === op.chain))
      add('a chain made anew');
    if (op.op === 'delElements' && putsBack(ops, op)) add('an element put back');
  }
}

function putsBack(ops: readonly Op[], { set, keys, family }: Op & { op: 'delElements' }): boolean {
  return ops.some(
    op =>
      op.op === 'addElements' &&
      op.family === family &&
      op.set.name === set.name &&
      op.elements.some(([key]) => keys.includes(key)),
  );
}

const JUMP = { '10.0.0.9': { verdict: { kind: 'jump', chain: 'in-web' } } } as const;

/** A base chain that looks up a map whose one element jumps to a chain that looks up a set. */
function web(): Ruleset {
  return ruleset([map(JUMP), peers(['10.0.0.1', '10.0.0.2'])], [forward(), inWeb()]);
}

function forward(priority = 0): Chain {
  const hook = { hook: 'forward', priority, policy: 'accept' } as const;
  return { name: 'forward', hook, rules: [{ exprs: addressVmap('ip', 'daddr', 'pods') }] };
}

function inWeb(last: NftRule = { exprs: [verdict('drop')] }): Chain {
  return {
    name: 'in-web',
    rules: [{ exprs: [...addressIn('ip', 'saddr', 'peers'), verdict('accept')] }, last],
  };
}

function map(elements: Record<string, object>): NftSet {
  return {
    name: 'pods',
    key: ['ipv4_addr'],
    verdicts: true,
    interval: false,
    elements: new Map(Object.entries(elements)),
  };
}

function peers(keys: readonly string[]): NftSet {
  const elements = new Map(keys.map(key => [key, MEMBER]));
  return { name: 'peers', key: ['ipv4_addr'], verdicts: false, interval: false, elements };
}

function addresses(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
}

function ruleset(sets: readonly NftSet[], chains: readonly Chain[]): Ruleset {
  const byName = <T extends { readonly name: string }>(items: readonly T[]) =>
    new Map(items.map(item => [item.name, item]));
  return { tables: new Map([['ip', { sets: byName(sets), chains: byName(chains) }]]) };
}

function texts(actual: Ruleset, desired: Ruleset): string[] {
  return plan(actual, desired).map(opText);
}
