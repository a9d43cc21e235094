import { describe, expect, it } from 'vitest';
import type { Op } from '../../../src/nft/plan/op.ts';
import { type Expr, MEMBER, type SetSpec } from '../../../src/nft/ruleset.ts';
import { kernelContract } from '../../contract/kernel-contract.ts';
import { FakeKernel } from './fake.ts';

kernelContract('FakeKernel', async () => new FakeKernel());

const PEERS: SetSpec = { name: 'peers', key: ['ipv4_addr'], verdicts: false, interval: false };
const TABLE: Op = { op: 'addTable', family: 'ip' };
const addSet = (set: SetSpec, size = 2): Op => ({ op: 'addSet', family: 'ip', set, size });
const addElements = (set: SetSpec, ...keys: string[]): Op => ({
  op: 'addElements',
  family: 'ip',
  set,
  elements: keys.map(key => [key, MEMBER]),
});

describe('FakeKernel', () => {
  it('hands out dumps that later commits leave alone', async () => {
    const kernel = new FakeKernel();
    await kernel.commit([TABLE, addSet(PEERS), addElements(PEERS, '10.0.0.1')]);
    const { ruleset } = await kernel.dump();
    const before = structuredClone(ruleset);
    await kernel.commit([addElements(PEERS, '10.0.0.2'), { op: 'addChain', family: 'ip', chain: 'c' }]);
    expect(ruleset).toEqual(before);
    expect((await kernel.dump()).ruleset).not.toEqual(before);
  });

  it('moves on to another generation when somebody else commits', async () => {
    const kernel = new FakeKernel();
    const generation = await kernel.generation();
    kernel.touch();
    await expect(kernel.commit([TABLE], generation)).rejects.toMatchObject({ code: 'ERESTART' });
    await kernel.commit([TABLE], await kernel.generation());
  });

  it.each([
    ['10.0.0.01', PEERS],
    ['fd00::1', PEERS],
    ['tcp . 080', { ...PEERS, key: ['inet_proto', 'inet_service'] }],
    ['6 . 80', { ...PEERS, key: ['inet_proto', 'inet_service'] }],
    ['tcp', { ...PEERS, key: ['inet_proto', 'inet_service'] }],
    ['FD00::1', { ...PEERS, key: ['ipv6_addr'] }],
    ['10.0.0.1', { ...PEERS, interval: true }],
    ['10.0.0.1/8', { ...PEERS, interval: true }],
    ['10.0.0.0-10.0.0.255', { ...PEERS, interval: true }],
    ['10.0.0.9-10.0.0.1', { ...PEERS, interval: true }],
    ['80-80', { ...PEERS, key: ['inet_service'], interval: true }],
    ['65536', { ...PEERS, key: ['inet_service'], interval: true }],
  ] as [string, SetSpec][])(
    'refuses the key %s with ERANGE: what is read back would have another name',
    async (key, set) => {
      const kernel = new FakeKernel();
      await kernel.commit([TABLE, addSet(set)]);
      await expect(kernel.commit([addElements(set, key)])).rejects.toMatchObject({ code: 'ERANGE', key });
    },
  );

  it('throws where a step takes a set for another kind than it is', async () => {
    const kernel = new FakeKernel();
    await kernel.commit([TABLE, addSet(PEERS)]);
    await expect(kernel.commit([addElements({ ...PEERS, interval: true }, '10.0.0.1/32')])).rejects.toThrow(
      TypeError,
    );
  });

  it.each([
    [
      'a key of which it has loaded less',
      [{ kind: 'payload', base: 'network', offset: 12, length: 4, dreg: 0 }],
    ],
    ['what it has loaded elsewhere', [{ kind: 'payload', base: 'network', offset: 8, length: 16, dreg: 4 }]],
  ] as [string, Expr[]][])('throws where a rule looks up %s', async (_, loads) => {
    const kernel = new FakeKernel();
    const lookup: Expr = { kind: 'lookup', set: 'peers', sreg: 0, vmap: false, invert: false };
    const rule = (...exprs: Expr[]): Op => ({ op: 'addRule', family: 'ip6', chain: 'c', rule: { exprs } });
    const peers: SetSpec = { ...PEERS, key: ['ipv6_addr'] };
    const start: Op[] = [
      { op: 'addTable', family: 'ip6' },
      { op: 'addSet', family: 'ip6', set: peers, size: 2 },
      { op: 'addChain', family: 'ip6', chain: 'c' },
    ];
    await kernel.commit(start);
    await expect(kernel.commit([rule(...loads, lookup)])).rejects.toThrow(TypeError);
    await kernel.commit([rule({ kind: 'payload', base: 'network', offset: 8, length: 16, dreg: 0 }, lookup)]);
  });

  it('does nothing any more once it is closed', async () => {
    const kernel = new FakeKernel();
    kernel.close();
    await expect(kernel.dump()).rejects.toMatchObject({ code: 'EBADF' });
    await expect(kernel.commit([TABLE])).rejects.toMatchObject({ code: 'EBADF' });
  });
});
