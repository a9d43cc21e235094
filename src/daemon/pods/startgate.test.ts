import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FakeRuntime } from '../../../test/support/pods/fakeruntime.ts';
import { LocalPods } from '../../network/sandboxes/localpods.ts';
import { PodGate } from './startgate.ts';
import { startGateConfig } from './startgateconfig.ts';

let folder: string;
let nriSocket: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-starts-'));
  nriSocket = join(folder, 'nri.sock');
  writeFileSync(nriSocket, '');
});
afterAll(() => rmSync(folder, { recursive: true }));

const decided = (options: object) => {
  const { gate, unknownPods } = startGateConfig({ node: 'n1', ...options });
  return [gate.on, unknownPods];
};

test('the gate is on where the runtime offers it, and unknown pods are denied where it is on', () => {
  expect(decided({ nriSocket })).toEqual([true, 'deny']);
  expect(decided({ nriSocket: join(folder, 'none.sock') })).toEqual([false, 'allow']);
  expect(decided({ nriSocket, manifests: 'examples/shop' })).toEqual([false, 'allow']);
});

test('a gate that nobody turned off and the runtime does not offer is warned of', () => {
  const none = join(folder, 'none.sock');
  const statusOf = (options: object) => {
    const lines: string[] = [];
    const log = {
      info: () => lines.push('info'),
      warn: (_: object, text: string) => lines.push(`warn: ${text}`),
    };
    const gate = new PodGate(startGateConfig({ node: 'n1', nriSocket: none, ...options }), { log } as never);
    return [gate.status().gate.kind, ...lines];
  };
  expect(statusOf({})).toEqual([
    'missed',
    expect.stringMatching(/^warn: start gate off: .*there was no .*none\.sock/),
  ]);
  expect(statusOf({ startGate: 'off' })).toEqual(['off', 'info']);
  expect(statusOf({ podNetwork: 'attach' })).toEqual(['off', 'info']);
  expect(statusOf({ manifests: 'examples/shop' })).toEqual(['off', 'info']);
});

test('who asks has what was asked for', () => {
  expect(decided({ nriSocket, startGate: 'off' })).toEqual([false, 'allow']);
  expect(decided({ startGate: 'nri', manifests: 'examples/shop' })).toEqual([true, 'deny']);
  expect(decided({ nriSocket, unknownPods: 'allow' })).toEqual([true, 'allow']);
  expect(decided({ startGate: 'off', unknownPods: 'deny' })).toEqual([false, 'deny']);
  expect(decided({ startGate: 'off', podNetwork: 'attach' })).toEqual([false, 'deny']);
});

/** A gate on a runtime of its own, and the moment at which the first rules are in force. */
async function gateOn(path: string) {
  const runtime = await FakeRuntime.listen(path);
  const plugin = runtime.plugin();
  let connected = false;
  void plugin.then(() => {
    connected = true;
  });
  const rules = Promise.withResolvers<void>();
  const gate = new PodGate(startGateConfig({ node: 'n1', startGate: 'nri', nriSocket: path }), {
    localPods: new LocalPods('n1'),
    agent: { apply: () => {} },
    barrier: { programmed: () => rules.promise },
    staleConntrack: { released: () => {}, sweep: () => {}, flushed: async () => {} },
    onLate: () => {},
    log: { info: () => {}, warn: () => {} } as never,
  });
  return { runtime, plugin, gate, rules, isConnected: () => connected };
}

test('the gate does not connect before rules of this agent are in force, and says so', async () => {
  const { runtime, plugin, gate, rules } = await gateOn(join(folder, 'early.sock'));
  const stop = new AbortController();
  const running = gate.run(stop.signal);
  // The runtime takes connections in their order: one of the gate, which loads this module first, would come before.
  await import('../../network/sandboxes/startgate.ts');
  const other = connect(runtime.path);
  const first = await plugin;
  other.destroy();
  await expect.poll(() => first.socket.destroyed).toBe(true);
  expect(gate.status().gate).toEqual({ kind: 'lost', why: 'no rules of this agent are in force yet' });
  rules.resolve();
  const connection = await runtime.plugin();
  await connection.registered;
  stop.abort();
  await running;
  await runtime.close([connection]);
});

test('a gate that is stopped before any rules are in force never connects', async () => {
  const { runtime, gate, isConnected } = await gateOn(join(folder, 'never.sock'));
  const stop = new AbortController();
  const running = gate.run(stop.signal);
  stop.abort();
  await running;
  expect(isConnected()).toBe(false);
  await runtime.close();
});
