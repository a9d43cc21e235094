/**
 * No sender can hide the denials of another: not by forging its address, not by sending many packets, and not by
 * getting its address later.
 */
import { beforeEach, expect, test } from 'vitest';
import { address } from '../../../bench/lab/topology.ts';
import { nodeEvent, shopPod, shopPolicy } from '../../../test/support/scenarios/shop.ts';
import { type ClusterEvent, ClusterState } from '../../model/cluster.ts';
import { packet } from '../../nft/trace/packet.ts';
import { DenialRecorder, type Handed } from './journal.ts';
import { ModelView } from './modelview.ts';

const [WEB, DB, CAT, FAR] = ['10.1.0.1', '10.1.0.2', '10.1.0.3', '192.0.2.7'] as const;
let state: ClusterState;
let view: ModelView;
let recorder: DenialRecorder;

beforeEach(() => {
  state = new ClusterState();
  view = new ModelView(state, { node: 'n1', unknownPods: 'deny', now: () => 0 });
  recorder = new DenialRecorder({ view });
  happens(
    nodeEvent('n1', ['172.18.0.1']),
    ...(['web', 'db', 'cat'] as const).map((name, n) => shopPod(`shop/${name}`, 'n1', [[WEB, DB, CAT][n]!])),
    shopPolicy('closed', { podSelector: {}, policyTypes: ['Ingress'], ingress: [] }),
  );
});

function happens(...events: ClusterEvent[]): void {
  for (const event of events) {
    view.apply(event);
    state.apply(event);
  }
}

function denied(from: string, to: string, port: number, more: Partial<Handed> = {}): boolean {
  const bytes = packet({
    ...{ from: address(from), to: address(to), protocol: 'UDP', port, sourcePort: 123 },
  });
  return recorder.take({ bytes, hook: 'forward', ...more }, 1_000) !== undefined;
}

const told = () =>
  recorder.journal
    .denials()
    .map(({ from, times, cause }) => `${from.pod ?? from.address} ${cause.kind} ${times}`);

test('a packet that bears the address and ports of another counts with its own link', () => {
  const forged = { isOfLink: true, iif: 7 } as const;
  expect(denied(WEB, DB, 53, forged)).toBe(true);
  expect(denied(WEB, DB, 53, { ...forged, iif: 8 })).toBe(true);
  expect(denied(WEB, DB, 53)).toBe(true);
  expect(denied(WEB, DB, 53, forged)).toBe(false);
  expect(told()).toEqual(['shop/web link 2', 'shop/web link 1', 'shop/web policy 1']);
});

test.each([
  ['sends', WEB],
  ['is sent to', DB],
])('a pod that has the address of one that is gone is told of by its own name: it %s', (_, moved) => {
  expect(denied(WEB, DB, 53)).toBe(true);
  happens({ type: 'pod', key: moved === WEB ? 'shop/web' : 'shop/db' });
  expect(denied(WEB, DB, 53)).toBe(false);
  happens(shopPod('shop/next', 'n1', [moved]));
  expect(denied(WEB, DB, 53)).toBe(true);
  const { from, to } = recorder.journal.denials().at(-1)!;
  expect(moved === WEB ? from.pod : to.pod).toBe('shop/next');
});

test('a scan keeps no other denial out of the list', () => {
  denied(WEB, DB, 53);
  denied(FAR, DB, 53);
  for (let n = 0; n < 5_000; n++) denied(CAT, DB, n);
  expect(told()).toContain('shop/web policy 1');
  expect(told()).toContain('192.0.2.7 policy 1');
  expect(told()).toHaveLength(1_024);
});

test('addresses without end from outside take the room of others outside, and of no pod here', () => {
  for (let port = 0; port < 5; port++) denied(WEB, DB, port);
  for (let port = 0; port < 5; port++) denied(CAT, DB, port, { isOfLink: true, iif: 7 });
  for (let n = 0; n < 5_000; n++) denied(`203.0.${n >> 8}.${n & 255}`, DB, 1);
  const shown = told();
  expect(shown.filter(text => text.startsWith('shop/web'))).toHaveLength(5);
  expect(shown.filter(text => text.startsWith('shop/cat'))).toHaveLength(5);
});
