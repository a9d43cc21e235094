import { expect, test } from 'vitest';
import type { Address } from '../../model/address.ts';
import type { PodKey } from '../../model/cluster.ts';
import type { Denial } from './denial.ts';
import { connectionText, logFields, Sampler } from './lines.ts';

const at = (text: string) => text as Address;
const DENIAL: Denial = {
  number: 1,
  atMs: 0,
  lastMs: 0,
  times: 1,
  from: { address: at('10.0.0.1'), pod: 'guest/visitor' },
  to: { address: at('10.0.0.2'), pod: 'shop/db' },
  protocol: 'TCP',
  port: 5432,
  cause: {
    kind: 'policy',
    direction: 'ingress',
    tier: 'networkpolicy',
    policy: 'NetworkPolicy shop/db',
    reason: 'r',
  },
};

test.each([
  ['guest/visitor -> shop/db:5432/TCP', {}],
  [
    'guest/visitor -> shop/db:5432/TCP through postgres:5433',
    { service: { address: at('10.96.0.1'), port: 5433, name: 'shop/postgres' } },
  ],
  [
    'guest/visitor -> shop/db:5432/TCP through postgres',
    { service: { address: at('10.96.0.1'), port: 5432, name: 'shop/postgres' } },
  ],
  [
    'guest/visitor -> node/n1:5432/TCP through shop/postgres',
    {
      to: { address: at('172.18.0.1'), node: 'n1' },
      service: { address: at('10.96.0.1'), port: 5432, name: 'shop/postgres' },
    },
  ],
  [
    'guest/visitor -> shop/db:5432/TCP through [fd96::1]:80',
    { service: { address: at('fd96::1'), port: 80 } },
  ],
  ['guest/visitor -> [fd00::2]:5432/TCP', { to: { address: at('fd00::2') } }],
  [
    'guest/visitor -> mail.example.com (198.51.100.26):5432/TCP',
    { to: { address: at('198.51.100.26') }, names: ['mail.example.com'] },
  ],
  [
    'guest/visitor -> *.example.com and 2 more (fd00::2):5432/TCP',
    { to: { address: at('fd00::2') }, names: ['*.example.com', 'a.example.com', 'b.example.com'] },
  ],
  ['guest/visitor -> [fd00::2]:5432/TCP', { to: { address: at('fd00::2') }, names: [] }],
  ['guest/visitor -> shop/db:5432/TCP', { names: ['db.example.com'] }],
  ['guest/visitor -> node/n1:5432/TCP', { to: { address: at('172.18.0.1'), node: 'n1' } }],
  ['guest/visitor (gone) -> shop/db:5432/TCP', { from: { ...DENIAL.from, gone: true as const } }],
])('connectionText() says %s', (text, other) => {
  expect(connectionText({ ...DENIAL, ...other })).toBe(text);
});

test('a line of the log has the names as fields', () => {
  expect(logFields(DENIAL)).toMatchObject({
    from: 'guest/visitor',
    to: 'shop/db',
    port: 5432,
    policy: 'NetworkPolicy shop/db',
    direction: 'ingress',
  });
});

const ISOLATING = ['NetworkPolicy shop/db', 'NetworkPolicy shop/default-deny'] as const;

test('a line of the log names every policy that isolates, as `sluice drops` does', () => {
  const cause = { ...DENIAL.cause, policies: ISOLATING };
  expect(logFields({ ...DENIAL, cause })).toMatchObject({ policy: ISOLATING[0], policies: ISOLATING });
});

test('a sample has a line for what another policy denies too, whichever of them is named first', () => {
  const sampler = new Sampler();
  const by = (...policies: (typeof ISOLATING)[number][]): Denial => ({
    ...DENIAL,
    cause: { ...DENIAL.cause, policies },
  });
  expect(sampler.take(by(ISOLATING[0]), 0)).toBe(0);
  expect(sampler.take(DENIAL, 1)).toBeUndefined();
  expect(sampler.take(by(...ISOLATING), 2)).toBe(1);
});

test('a sample has one line a minute of each kind, and says how many had none', () => {
  const sampler = new Sampler();
  expect(sampler.take(DENIAL, 0)).toBe(0);
  expect([1, 2, 59_999].map(ms => sampler.take(DENIAL, ms))).toEqual([undefined, undefined, undefined]);
  expect(sampler.take({ ...DENIAL, port: 80 }, 59_999)).toBe(3);
  expect(sampler.take(DENIAL, 60_000)).toBe(0);
});

const from = (pod: PodKey): Denial => ({ ...DENIAL, from: { address: at('10.0.0.9'), pod } });

/** How many lines a scan of 5,000 ports has. */
function scan(sampler: Sampler, denial: Denial, ms: number): number {
  const taken = Array.from({ length: 5_000 }, (_, n) => sampler.take({ ...denial, port: ms + n }, ms));
  return taken.filter(line => line !== undefined).length;
}

test('a scan of all ports has five lines, then five a minute, and silences nobody', () => {
  const sampler = new Sampler();
  expect(scan(sampler, from('guest/scanner'), 0)).toBe(5);
  expect(sampler.take(DENIAL, 0)).toBe(4_995);
  let lines = 0;
  for (let ms = 1_000; ms < 61_000; ms += 1_000) lines += scan(sampler, from('guest/scanner'), ms);
  expect(lines).toBeOneOf([4, 5]);
  expect(sampler.take(DENIAL, 61_000)).toBeDefined();
});

test('very many sources have twenty lines together, and then one a second', () => {
  const sampler = new Sampler();
  const lines = (ms: number) =>
    Array.from({ length: 2_000 }, (_, n) => sampler.take(from(`guest/p${n}`), ms)).filter(
      line => line !== undefined,
    ).length;
  expect(lines(0)).toBe(20);
  expect(lines(10_000)).toBe(10);
});

test('where the clock goes back, what had its line before has one again', () => {
  const sampler = new Sampler();
  expect(sampler.take(DENIAL, 3_600_000)).toBe(0);
  expect(sampler.take(DENIAL, 0)).toBe(0);
  expect(sampler.take(DENIAL, 1)).toBeUndefined();
});

test('whoever forges the address of a pod leaves it its lines', () => {
  const sampler = new Sampler();
  const forged = { ...from('guest/visitor'), cause: { kind: 'link', reason: 'not its address' } } as const;
  for (let port = 0; port < 100; port++) sampler.take({ ...forged, port }, 0);
  expect(sampler.take(from('guest/visitor'), 0)).toBeDefined();
});
