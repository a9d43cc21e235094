import { expect, test } from 'vitest';
import { failClosed } from './failclosed.ts';
import type { DecodedRule, Peer, PortMatch } from './policy.ts';

const UNKNOWN = { kind: 'unknown' } as const;
const node: Peer = { kind: 'nodes', selector: { requirements: [] } };
const tcp: PortMatch = { kind: 'protocol', protocol: 'TCP' };
const rule = (parts: Partial<DecodedRule>): DecodedRule => ({
  path: 'egress[0]',
  action: 'accept',
  peers: [node],
  ports: [tcp],
  ...parts,
});

test('failClosed() leaves a rule without unknown parts as it is', () => {
  for (const action of ['accept', 'deny', 'pass'] as const) {
    expect(failClosed(rule({ action }), 'admin')).toEqual(rule({ action }));
  }
});

test('N24: a NetworkPolicy rule loses its unknown entries and keeps the others', () => {
  expect(failClosed(rule({ peers: [UNKNOWN, node], ports: [tcp, UNKNOWN] }), 'networkpolicy')).toEqual(
    rule({}),
  );
});

test('a NetworkPolicy rule whose lists are unknown matches nothing, and never everything', () => {
  expect(failClosed(rule({ peers: UNKNOWN }), 'networkpolicy').peers).toEqual([]);
  expect(failClosed(rule({ ports: UNKNOWN }), 'networkpolicy').ports).toEqual([]);
  expect(failClosed(rule({ peers: [UNKNOWN] }), 'networkpolicy').peers).toEqual([]);
});

test.each(['admin', 'baseline'] as const)(
  'C22: in tier %s one unknown part decides for the whole rule',
  tier => {
    for (const parts of [
      { peers: [node, UNKNOWN] },
      { ports: [tcp, UNKNOWN] },
      { peers: UNKNOWN },
      { ports: UNKNOWN },
    ]) {
      expect(failClosed(rule({ ...parts, action: 'accept' }), tier)).toMatchObject({
        action: 'accept',
        peers: [],
      });
      for (const action of ['deny', 'pass', UNKNOWN] as const) {
        expect(failClosed(rule({ ...parts, action }), tier)).toMatchObject({
          action: 'deny',
          peers: 'any',
          ports: 'any',
        });
      }
    }
  },
);

test('an unknown action denies', () => {
  expect(failClosed(rule({ action: UNKNOWN }), 'admin')).toMatchObject({
    action: 'deny',
    peers: 'any',
    ports: 'any',
  });
});
