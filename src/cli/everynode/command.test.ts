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
  run: (...asked) => run(...asked),
};
let run: Agents['run'];
const saysGarbled: Agents['run'] = async (_, __, sink) => {
  for (let n = 0; n < 3; n++) sink.line(GARBLED);
  return 'the connection was lost';
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
  run = saysGarbled;
  vi.spyOn(process.stderr, 'write').mockImplementation(text => {
    notes += text;
    return true;
  });
  await askCluster({ command: 'flows', filter: {} }, { output: 'text', agents: 'sluice' });
  expect(notes).toBe(
    'node n1 is away: the connection was lost\nnode n1 reported something that cannot be shown\n',
  );
  expect(process.exitCode).toBe(2);
});

const denied = (port: number, agoMs: number) =>
  JSON.stringify({
    ...{ kind: 'Denial', time: new Date(Date.now() - agoMs).toISOString(), protocol: 'TCP', port },
    ...{ from: { address: '10.0.0.1' }, to: { address: '10.0.0.2' }, cause: 'link', reason: 'because' },
  });

/** The ports of what is printed, of three recorded denials and one that comes. */
async function portsShown(options: object, filter = {}): Promise<number[]> {
  let out = '';
  vi.spyOn(process.stdout, 'write').mockImplementation(text => {
    out += text;
    return true;
  });
  const over = new AbortController();
  run = async (_, __, sink, { end }) => {
    for (const [port, agoMs] of [
      [1, 3_600_000],
      [2, 60_000],
      [3, 10_000],
    ] as const)
      sink.line(denied(port, agoMs));
    sink.line('');
    sink.line(denied(4, 0));
    if ('follow' in options)
      await new Promise(resolve => AbortSignal.any([end, over.signal]).addEventListener('abort', resolve));
    return undefined;
  };
  const question = { command: 'drops', filter, ...options } as const;
  const asked = askCluster(question, { output: 'json', agents: 'sluice', ...options });
  const ports = () => out.split('\n').flatMap(line => (line === '' ? [] : [JSON.parse(line).port as number]));
  if ('follow' in options) await expect.poll(ports).toContain(4);
  else await asked;
  process.removeAllListeners('SIGINT');
  return ports();
}

test.each([
  [{}, {}, [1, 2, 3, 4]],
  [{ since: 120 }, {}, [2, 3, 4]],
  [{ last: 2 }, {}, [3, 4]],
  [{}, { port: ['!2', '!3'] }, [1, 4]],
  [{ follow: true }, {}, [4]],
  [{ follow: true, since: 120 }, {}, [2, 3, 4]],
])('askCluster() by %j and the filter %j shows %j', async (options, filter, ports) => {
  expect(await portsShown(options, filter)).toEqual(ports);
});

test('askCluster() begins with the latest of what is recorded, where somebody follows with --last', async () => {
  expect(await portsShown({ follow: true, last: 2 })).toContain(4);
});
