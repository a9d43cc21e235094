import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { wrongWith } from '../../../test/support/questions/schema.ts';
import type { Address } from '../../model/address.ts';
import type { Denial } from '../../observe/denials/denial.ts';
import { toTerminal } from '../../terminal/colours.ts';
import { HANG } from '../../terminal/hang.ts';
import { printableJson } from '../../terminal/printable.ts';
import { Joined, joinedText } from './joined.ts';
import { denialObject, denialSaid } from './text.ts';

/** As a terminal of that width shows it. */
function denialLine(denial: Denial, columns?: number): string {
  const joined = new Joined();
  joined.add(denialSaid(denial), 0);
  return joinedText(joined.due(0)[0]!, columns);
}

const at = (text: string) => text as Address;
const DENIAL: Denial = {
  number: 7,
  atMs: Date.UTC(2026, 0, 1),
  lastMs: Date.UTC(2026, 0, 1) + 3_000,
  times: 3,
  from: { address: at('10.0.0.1'), pod: 'guest/visitor', gone: true },
  to: { address: at('10.0.0.2'), pod: 'shop/db' },
  protocol: 'TCP',
  sourcePort: 4000,
  port: 5432,
  service: { address: at('10.96.0.1'), port: 5432, name: 'shop/postgres' },
  cause: {
    kind: 'policy',
    direction: 'ingress',
    tier: 'networkpolicy',
    policy: 'NetworkPolicy shop/db',
    reason: 'NetworkPolicy shop/db selects shop/db',
  },
};

test('a denial is a line for people', () => {
  expect(denialLine(DENIAL)).toMatch(
    /^\d\d:\d\d:\d\d {2}guest\/visitor \(gone\) -> shop\/db:5432\/TCP through postgres {2}.*ingress: isolated by shop\/db.*\(3 times\)/,
  );
});

test.each([
  ['over IPv6 between two that have names', {}, 'shop/db:5432/TCP over IPv6'],
  ['and not where an address says it', { to: { address: at('2001:db8::7') } }, '[2001:db8::7]:5432/TCP'],
  ['nor over IPv4', { from: DENIAL.from, to: DENIAL.to }, 'shop/db:5432/TCP'],
])('a line says %s', (_, more, text) => {
  const { service: __, ...denial } = DENIAL;
  const from = { address: at('fd00::1'), pod: 'guest/visitor' as const };
  const to = { address: at('fd00::2'), pod: 'shop/db' as const };
  expect(stripVTControlCharacters(denialLine({ ...denial, from, to, ...more }))).toContain(` -> ${text}  `);
});

test('a denial is an object of the schema, with and without all that it may have', () => {
  const icmp = {
    icmp: { type: 3, code: 1 },
    about: '10.0.0.2 -> 10.0.0.1:80/TCP',
    protocol: 'ICMP' as const,
  };
  const { service: _, port: __, sourcePort: ___, ...bare } = DENIAL;
  for (const denial of [
    DENIAL,
    {
      ...DENIAL,
      cause: { ...DENIAL.cause, policies: ['NetworkPolicy shop/db', 'NetworkPolicy shop/no'] },
    } as const,
    { ...bare, ...icmp },
    { ...bare, protocol: 47, cause: { kind: 'link', reason: 'r' } as const },
  ])
    expect(wrongWith(denialObject(denial) as { kind: string })).toEqual([]);
});

test('names that would move the cursor are shown, and obeyed by nobody', () => {
  const text = 'shop/\x1b[2J\u202edb' as const;
  const told = { ...DENIAL, to: { address: at('192.0.2.1') }, names: [text] };
  expect(denialLine(told)).toContain(text);
  for (const hostile of [{ ...DENIAL, to: { ...DENIAL.to, pod: text } }, told])
    for (const shown of [toTerminal(denialLine(hostile)), printableJson(denialObject(hostile))])
      expect(shown).not.toMatch(/[\p{Cc}\u202e]/u);
});

test.each([
  [{ rule: 'ingress[0]' }, 'ingress: denied by shop/db ingress[0]'],
  [
    { policies: ['NetworkPolicy shop/db', 'NetworkPolicy shop/no'] as const },
    'ingress: isolated by shop/db +1',
  ],
  [{ kind: 'mid-stream' as const, reason: 'not a first packet' }, 'ingress: not a first packet'],
])('a line names the ends once: %j', (cause, words) => {
  const { service: _, ...denial } = DENIAL;
  const line = denialLine({ ...denial, cause: { ...DENIAL.cause, ...cause } }).replaceAll(HANG, '');
  const plain = stripVTControlCharacters(line);
  expect(plain).toContain(words);
  expect(plain.length).toBeLessThanOrEqual(105);
});

const NAMED: Denial = {
  ...DENIAL,
  from: {
    address: at('10.244.1.7'),
    pod: 'shop/web-5677dc485-f9v47',
    labels: { app: 'web', 'pod-template-hash': '5677dc485' },
  },
  to: {
    address: at('10.244.0.2'),
    pod: 'kube-system/coredns-559f6cc658-xk2lp',
    labels: { 'k8s-app': 'kube-dns', 'pod-template-hash': '559f6cc658' },
  },
  protocol: 'UDP',
  port: 53,
  service: { address: at('10.96.0.10'), port: 53, name: 'kube-system/kube-dns' },
  cause: {
    kind: 'policy',
    direction: 'egress',
    policy: 'NetworkPolicy shop/default-deny',
    reason: 'NetworkPolicy shop/default-deny selects shop/web-5677dc485-f9v47',
  },
};

test.each([
  [undefined, 'shop/web-5677dc485-f9v47 -> kube-system/coredns-559f6cc658-xk2lp:53/UDP through kube-dns'],
  [160, 'shop/web-5677dc485-f9v47 -> kube-system/coredns-559f6cc658-xk2lp:53/UDP through kube-dns'],
  [135, 'shop/web-…-f9v47 -> kube-system/coredns-…-xk2lp:53/UDP through kube-dns'],
  [120, 'shop/web-…-f9v47 -> kube-system/kube-dns:53/UDP'],
])('a line that is wider than a terminal of %s columns is shortened', (columns, connection) => {
  const line = stripVTControlCharacters(denialLine(NAMED, columns)).replace(HANG, '');
  expect(line.slice(10)).toBe(`${connection}  egress: isolated by shop/default-deny (3 times)`);
  expect(line.length).toBeLessThanOrEqual(columns ?? 160);
});

test('a wide line has the whole sentence, and shortens nothing', () => {
  const { connections, denied } = denialSaid(NAMED, true);
  expect(connections).toHaveLength(1);
  expect(denied).toBe(`egress: ${NAMED.cause.reason}`);
});
