import { expect, test } from 'vitest';
import { FakeKernel } from '../../../test/support/kernel/fake.ts';
import { FAMILIES, type Family } from '../../model/address.ts';
import type { Op } from '../plan/op.ts';
import type { CtKey, Expr, FieldType, MetaKey } from '../ruleset.ts';
import { SAMPLE_OF_LAST, SAMPLE_OF_LOGS, sample, sampleOfBridges, sampleOfQueue } from './sample.ts';

// The type requires an entry for each kind of expression: a new kind has to be tried on the kernel before an agent
// relies on it.
const EXPRS: Record<Exclude<Expr['kind'], 'unknown'>, true> = {
  meta: true,
  ct: true,
  exthdr: true,
  fib: true,
  last: true,
  payload: true,
  bitwise: true,
  cmp: true,
  lookup: true,
  nat: true,
  masq: true,
  dynset: true,
  counter: true,
  log: true,
  limit: true,
  queue: true,
  verdict: true,
};
const KEYS: Record<FieldType, true> = {
  ipv4_addr: true,
  ipv6_addr: true,
  ether_addr: true,
  inet_proto: true,
  inet_service: true,
  iface_index: true,
};
// No rule of ours uses nfproto. A kernel that has the others has `mark`.
const METAS: Record<Exclude<MetaKey, 'nfproto' | 'mark'>, true> = {
  l4proto: true,
  iif: true,
  oif: true,
  iifgroup: true,
  oifgroup: true,
  iifkind: true,
  pkttype: true,
};

// The kernel got `saddr` and `daddr` in the same version.
const CTS: Record<Exclude<CtKey, `original ${Family} daddr`>, true> = {
  state: true,
  direction: true,
  status: true,
  'original ip saddr': true,
  'reply ip saddr': true,
  'original ip6 saddr': true,
  'reply ip6 saddr': true,
  'original proto-dst': true,
};

const ops = sample(FAMILIES, true);
const all = [...ops, ...sampleOfBridges()];
const apart = [...sampleOfQueue('nft'), ...SAMPLE_OF_LOGS, ...SAMPLE_OF_LAST];
const exprs = [...all.flatMap(op => (op.op === 'addRule' ? op.rule.exprs : [])), ...apart];
const sets = all.flatMap(op => (op.op === 'addSet' ? [op.set] : []));
const kinds = <T extends string>(kinds: Iterable<T>) => [...new Set(kinds)].sort();

test('the sample has every expression that our rules have', () => {
  expect(kinds(exprs.map(({ kind }) => kind))).toEqual(kinds(Object.keys(EXPRS)));
  expect(kinds(exprs.flatMap(expr => (expr.kind === 'meta' ? [expr.key] : [])))).toEqual(
    kinds(Object.keys(METAS)),
  );
  expect(kinds(exprs.flatMap(expr => (expr.kind === 'ct' ? [expr.key] : [])))).toEqual(
    kinds(Object.keys(CTS)),
  );
  expect(exprs.some(expr => expr.kind === 'lookup' && expr.invert)).toBe(true);
  expect(exprs.some(expr => expr.kind === 'lookup' && expr.vmap)).toBe(true);
  expect(exprs.some(expr => expr.kind === 'lookup' && expr.dreg !== undefined)).toBe(true);
});

test('the sample has every kind of set and key', () => {
  expect(kinds(sets.flatMap(({ key }) => key))).toEqual(kinds(Object.keys(KEYS)));
  expect(sets.some(({ interval }) => interval)).toBe(true);
  expect(sets.some(({ verdicts }) => verdicts)).toBe(true);
  expect(sets.some(({ data }) => data !== undefined)).toBe(true);
  expect(sets.some(({ dynamic }) => dynamic?.timeoutMs !== undefined)).toBe(true);
  expect(Math.max(...sets.map(({ key }) => key.length))).toBe(3);
});

test('the sample has no base chain, so that no packet ever reaches it', () => {
  expect(ops.filter((op: Op) => op.op === 'addChain' && op.hook !== undefined)).toEqual([]);
});

test('the sample is a batch that a kernel takes, whole or for one family', async () => {
  await expect(new FakeKernel().commit(sampleOfBridges())).resolves.toBeGreaterThan(1);
  await expect(new FakeKernel().commit(ops)).resolves.toBeGreaterThan(1);
  await expect(new FakeKernel().commit(sample(['ip6']))).resolves.toBeGreaterThan(1);
  await expect(new FakeKernel().commit(sample(['ip6'], true))).resolves.toBeGreaterThan(1);
  expect(sample([])).toEqual([]);
});

test('a node that does not attach pods needs neither translation nor routes', () => {
  const needed = sample().flatMap(op => (op.op === 'addRule' ? op.rule.exprs : []));
  expect(needed.filter(({ kind }) => kind === 'nat' || kind === 'masq' || kind === 'fib')).toEqual([]);
});
