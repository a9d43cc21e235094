/** Which packets the guard drops, found by walking them through the rules of a node. */
import { describe, expect, test } from 'vitest';
import { nodeEvent, shopPod, shopPolicy } from '../../test/support/scenarios/shop.ts';
import { type Address, familyOf, parseAddress } from '../model/address.ts';
import { type ClusterEvent, ClusterState } from '../model/cluster.ts';
import { plan } from '../nft/plan/plan.ts';
import type { BaseHook, Ruleset } from '../nft/ruleset.ts';
import { packet, TCP_FLAGS } from '../nft/trace/packet.ts';
import { trace } from '../nft/trace/trace.ts';
import { compile } from './compile.ts';
import { withoutGuard } from './midstreamguard.ts';

const { syn, ack, fin, rst, psh } = TCP_FLAGS;
const at = (text: string): Address => parseAddress(text)!;
const [server, client, stranger] = [at('10.1.0.1'), at('10.1.0.2'), at('10.9.0.1')];

const allowAll = (app: string, direction: 'Ingress' | 'Egress') =>
  shopPolicy(`${app}-${direction}`.toLowerCase(), {
    podSelector: { matchLabels: { app } },
    policyTypes: [direction],
    [direction.toLowerCase()]: [{}],
  });

function rulesOf(...policies: ClusterEvent[]): Ruleset {
  const state = new ClusterState();
  const cast = [
    nodeEvent('n1', ['172.18.0.1']),
    shopPod('shop/server', 'n1', ['10.1.0.1', 'fd01::1']),
    shopPod('shop/client', 'n1', ['10.1.0.2', 'fd01::2']),
  ];
  for (const event of [...cast, ...policies]) state.apply(event);
  return compile(state, 'n1');
}

function verdict(
  rules: Ruleset,
  [from, to]: readonly [Address, Address],
  tcpFlags: number,
  state: 'new' | 'established' | 'untracked' = 'new',
  hook: BaseHook['hook'] = 'forward',
): 'accept' | 'drop' {
  const bytes = packet({ from, to, protocol: 'TCP', port: 80, tcpFlags });
  return trace(rules, familyOf(from), hook, bytes, state).verdict;
}

describe('with policies that allow everything', () => {
  const guarded = rulesOf(allowAll('server', 'Ingress'), allowAll('client', 'Egress'));

  test.each([ack, ack | psh, fin | ack, rst, syn | ack, 0])(
    'a packet with flags %i of no known connection passes from the end that opens, and not from the other',
    flags => {
      expect(verdict(guarded, [stranger, server], flags)).toBe('accept');
      expect(verdict(guarded, [server, stranger], flags)).toBe('drop');
      expect(verdict(guarded, [client, stranger], flags)).toBe('accept');
      expect(verdict(guarded, [stranger, client], flags)).toBe('drop');
      expect(verdict(guarded, [at('fd01::1'), at('fd09::1')], flags)).toBe('drop');
    },
  );

  test.each([syn, syn | psh, syn | 0x40 | 0x80])('what opens a connection passes (flags %i)', flags => {
    expect(verdict(guarded, [server, stranger], flags)).toBe('accept');
    expect(verdict(guarded, [stranger, client], flags)).toBe('accept');
  });

  test.each([
    ['an INIT', 1, 'accept'],
    ['a heartbeat', 4, 'drop'],
    ['a heartbeat’s answer', 5, 'drop'],
    ['the end of an association', 8, 'drop'],
  ] as const)('of SCTP %s of the end that did not open: %#', (_, sctpChunk, expected) => {
    const walked = (from: Address, to: Address, hook: BaseHook['hook'] = 'forward') => {
      const bytes = packet({ from, to, protocol: 'SCTP', port: 80, sctpChunk });
      return trace(guarded, familyOf(from), hook, bytes, 'new').verdict;
    };
    for (const [from, to] of [
      [server, stranger],
      [stranger, client],
      [at('fd01::1'), at('fd09::1')],
    ] as const) {
      expect(walked(from, to)).toBe(expected);
      expect(walked(to, from)).toBe('accept');
    }
    expect(walked(at('172.18.0.1'), client, 'output')).toBe(expected);
  });

  test('established and untracked packets pass, and so does any other protocol', () => {
    expect(verdict(guarded, [server, stranger], ack, 'established')).toBe('accept');
    expect(verdict(guarded, [server, stranger], ack, 'untracked')).toBe('accept');
    const datagram = packet({ from: server, to: stranger, protocol: 'UDP', port: 53 });
    expect(trace(guarded, 'ip', 'forward', datagram, 'new').verdict).toBe('accept');
  });

  test('the node may not answer on what its pod could not open, and reaches every pod otherwise', () => {
    const node = at('172.18.0.1');
    expect(verdict(guarded, [node, client], ack, 'new', 'output')).toBe('drop');
    expect(verdict(guarded, [node, client], syn, 'new', 'output')).toBe('accept');
    expect(verdict(guarded, [node, server], ack, 'new', 'output')).toBe('accept');
    expect(verdict(guarded, [server, node], ack, 'new', 'input')).toBe('accept');
  });
});

test('pods that no policy affects see nothing of the guard', () => {
  const rules = rulesOf(allowAll('server', 'Ingress'));
  expect(verdict(rules, [client, stranger], ack)).toBe('accept');
  expect(verdict(rules, [stranger, client], ack)).toBe('accept');
  expect(verdict(rules, [stranger, at('10.8.0.1')], ack)).toBe('accept');
});

test('withoutGuard() leaves nothing of it, and everything else as it was', () => {
  const rules = rulesOf(allowAll('server', 'Ingress'), allowAll('client', 'Egress'));
  const bare = withoutGuard(rules);
  expect(verdict(bare, [server, stranger], ack)).toBe('accept');
  expect(
    JSON.stringify([...bare.tables.values()].map(({ chains, sets }) => [[...chains], [...sets.keys()]])),
  ).not.toMatch(/mid-stream|guard/);
  expect(plan(withoutGuard(rules), bare)).toEqual([]);
});
