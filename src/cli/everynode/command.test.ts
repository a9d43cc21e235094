import { afterEach, expect, test, vi } from 'vitest';
import { DEFAULT_SOCKET } from '../sources/state.ts';
import type { Agents } from './agents.ts';
import { askCluster, socketOf } from './command.ts';

const GARBLED = JSON.stringify({
  ...{ kind: 'SeenFlow', time: '2026-01-01T00:00:00Z', protocol: 'TCP' },
  ...{ from: { address: '10.0.0.1' }, to: { address: '10.0.0.2' }, directions: 7 },
});
const agents: Agents = {
  list: async () => [{ name: 'sluice-1', node: 'n1', container: 'sluice', phase: 'Running' }],
  nodes: async () => ['n1'],
  run: async (_, __, sink) => {
    for (let n = 0; n < 3; n++) sink.line(GARBLED);
    return 'the connection was lost';
  },
};
vi.mock('./clusteragents.ts', () => ({ clusterAgents: async () => agents }));

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

test('socketOf() asks no cluster where it was asked from elsewhere, as in the pod of an agent', async () => {
  vi.stubEnv('KUBERNETES_SERVICE_HOST', '10.96.0.1');
  const options = { output: 'json', agents: 'sluice', remote: true } as const;
  expect(await socketOf({ ...options, kubeconfig: '/nowhere' })).toBe(DEFAULT_SOCKET);
  expect(await socketOf(options)).toBe(DEFAULT_SOCKET);
  expect(await socketOf({ ...options, socket: '/run/other.sock' })).toBe('/run/other.sock');
});

test('askCluster() says once for a node that it cannot be shown, and is in trouble where a node was missed', async () => {
  let notes = '';
  vi.spyOn(process.stderr, 'write').mockImplementation(text => {
    notes += text;
    return true;
  });
  await askCluster('flows', [], { output: 'text', agents: 'sluice' });
  expect(notes).toBe(
    'node n1 is away: the connection was lost\nnode n1 reported something that cannot be shown\n',
  );
  expect(process.exitCode).toBe(2);
});
