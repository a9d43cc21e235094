/** The condition of a node on a server, as its controllers see it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeApiServer, type KubeObject } from '../../../../test/support/api/server.ts';
import { until } from '../../../../test/support/until.ts';
import { ApiServer } from '../client/apiserver.ts';
import { ConditionWriter } from './conditionwriter.ts';

const FULL = { reason: 'PodAddressesExhausted', message: 'all 6 addresses of 10.0.0.0/29 are in use' };
const OTHER = { type: 'Ready', status: 'True' };
const HASTY = {
  now: () => performance.now(),
  sleep: (ms: number, signal: AbortSignal) => sleep(ms / 100, undefined, { signal }).catch(() => {}),
  random: () => 0.5,
};

let server: FakeApiServer;
let api: ApiServer;
let stop: AbortController;
let running: Promise<void>;
let writer: ConditionWriter;
let clock: Date;
const troubles: string[] = [];

beforeEach(async () => {
  server = new FakeApiServer();
  await server.start();
  const node: KubeObject = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'worker' },
    status: { conditions: [OTHER] },
  };
  server.put(node);
  api = new ApiServer(server.access);
  stop = new AbortController();
  troubles.length = 0;
  clock = new Date('2026-03-04T05:06:07.890Z');
  const onTrouble = (reason: string) => void troubles.push(reason);
  writer = new ConditionWriter({ api, node: 'worker', timing: HASTY, now: () => clock, onTrouble });
  running = writer.run(stop.signal);
});

afterEach(async () => {
  stop.abort();
  await running;
  await api.close();
  await server.stop();
});

// biome-ignore lint/suspicious/noExplicitAny: a Node, as the server has it
const conditions = () => (server.objects[0] as any).status.conditions as Record<string, string>[];
const unavailable = () => conditions().find(({ type }) => type === 'NetworkUnavailable');
const patches = () => server.requests.filter(({ method }) => method === 'PATCH').length;

describe('ConditionWriter', () => {
  test('says NetworkUnavailable with reason and message, beside what others say, and takes it back', async () => {
    writer.set(FULL);
    await until('it is said', () => unavailable() !== undefined);
    expect(conditions()).toEqual([
      OTHER,
      {
        type: 'NetworkUnavailable',
        status: 'True',
        ...FULL,
        lastTransitionTime: '2026-03-04T05:06:07Z',
        lastHeartbeatTime: '2026-03-04T05:06:07Z',
      },
    ]);
    clock = new Date('2026-03-04T06:00:00Z');
    writer.set(undefined);
    await until('it is taken back', () => unavailable()?.status === 'False');
    expect(unavailable()).toMatchObject({
      reason: 'PodNetworkReady',
      lastTransitionTime: '2026-03-04T06:00:00Z',
    });
    expect(conditions()).toHaveLength(2);
  });

  test('says the same once, and another reason of the same state with the time of its beginning', async () => {
    writer.set(FULL);
    await until('it is said', () => patches() === 1);
    writer.set({ ...FULL });
    clock = new Date('2026-03-04T06:00:00Z');
    writer.set({ ...FULL, message: 'all 12 are in use' });
    await until('the other is said', () => unavailable()?.message === 'all 12 are in use');
    expect(unavailable()?.lastTransitionTime).toBe('2026-03-04T05:06:07Z');
    expect(patches()).toBe(2);
  });

  test('a server that refuses is asked again, and told once what holds then; the first refusal is told', async () => {
    let refused = 0;
    server.fault = ({ method }) =>
      method === 'PATCH' && refused++ < 5 ? { type: 'status', code: 403 } : undefined;
    writer.set(FULL);
    await until('it was refused', () => refused > 1);
    writer.set(undefined);
    await until('it is said', () => unavailable() !== undefined);
    expect(unavailable()?.status).toBe('False');
    expect(troubles[0]).toContain('403');
    expect(troubles.length).toBeLessThanOrEqual(2);
  });
});
