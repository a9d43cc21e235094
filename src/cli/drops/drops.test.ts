/** The messages of `sluice drops` where a reader would otherwise wait, or a program parse, without success. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type DenialsFacts, NO_DENIALS } from '../../api/health/agentchecks.ts';
import type { Address } from '../../model/address.ts';
import type { Denial } from '../../observe/denials/denial.ts';
import { type DropsOptions, dropsCommand } from './drops.ts';

const UNNAMED = { ...NO_DENIALS, error: 'another process is handed the packets' };
let facts: DenialsFacts = UNNAMED;
/** Recorded, and what comes. */
let [recorded, live]: [Denial[], Denial[]] = [[], []];
let asked = 0;
const agent = {
  state: async () => [{ type: 'pod', key: 'shop/db', json: '{}' }],
  async *drops(follow: boolean) {
    asked++;
    yield { facts, skipped: 0 };
    for (const denial of recorded) yield { denial, skipped: 0 };
    yield { endsRecorded: true, skipped: 0 };
    for (const denial of follow ? live : []) yield { denial, skipped: 0 };
  },
};
vi.mock('../everynode/agents.ts', async original => ({
  ...(await original<object>()),
  serveRemote: () => undefined,
  heartbeat: () => process.stdout.write('BEAT\n'),
}));
vi.mock('../sources/askagent.ts', async original => ({
  ...(await original<object>()),
  askAgent: (_: string, ask: (asked: typeof agent) => unknown) => ask(agent),
}));

let [out, notes] = ['', ''];
beforeEach(() => {
  [out, notes] = ['', ''];
  [recorded, live, asked] = [[], [], 0];
  facts = UNNAMED;
  vi.spyOn(process.stdout, 'write').mockImplementation(text => {
    out += text;
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockImplementation(text => {
    notes += text;
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  process.removeAllListeners('SIGINT');
});

const LINE = 'denied connections are not named: another process is handed the packets\n';

test.each([
  ['who follows', { follow: true, output: 'text' }, '', LINE],
  ['a program', { output: 'json' }, '', LINE],
  ['a program that follows', { follow: true, output: 'yaml' }, '', LINE],
  ['who reads a list', { output: 'text' }, LINE, ''],
] as [string, Omit<DropsOptions, 'socket'>, string, string][])(
  'dropsCommand() says once why nothing is named: to %s',
  async (_, options, printed, noted) => {
    await dropsCommand({ socket: '/run/sluice.sock', ...options });
    expect([out, notes]).toEqual([printed, noted]);
  },
);

test('dropsCommand() tells a prompt elsewhere in a note what was left out, and nobody else', async () => {
  facts = { ...NO_DENIALS, limits: { perSource: rate, inAll: rate }, denied: 9, handed: 3 };
  const options = { socket: '/run/sluice.sock', output: 'json', agents: 'sluice' } as const;
  await dropsCommand(options);
  expect(notes).toBe('');
  await dropsCommand({ ...options, remote: true });
  expect([out, notes]).toEqual([
    'BEAT\n',
    '9 packets denied since the agent started, 6 of them beyond the limits and not named\n',
  ]);
});

const rate = { perSecond: 2, burst: 20 };
const numbered = (number: number): Denial => ({
  number,
  ...{ atMs: number, lastMs: number, times: 1, protocol: 'TCP', port: number },
  ...{ from: { address: '10.0.0.1' as Address }, to: { address: '10.0.0.2' as Address } },
  cause: { kind: 'policy', direction: 'ingress', reason: 'because' },
});

test('dropsCommand() tells a prompt elsewhere when all that was recorded is told, and asks once', async () => {
  [recorded, live] = [[numbered(1), numbered(2)], [numbered(3)]];
  await dropsCommand({ socket: '/s', output: 'json', agents: 'sluice', remote: true, follow: true });
  const lines = out.trimEnd().split('\n');
  expect(lines.map(line => (line === 'BEAT' ? line : JSON.parse(line).port))).toEqual([1, 2, 'BEAT', 3]);
  expect(asked).toBe(1);
});

test.each([
  ['text', 'out', /\n1 denied connection shown\n$/],
  ['json', 'notes', /^1 denied connection shown\n$/],
] as const)(
  'dropsCommand() says how many it has shown where Ctrl-C ends it: %s',
  async (output, where, said) => {
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    facts = { ...NO_DENIALS, limits: { perSource: rate, inAll: rate } };
    [recorded, live] = [[numbered(1)], [numbered(2)]];
    await dropsCommand({ socket: '/s', output, agents: 'sluice', follow: true });
    process.emit('SIGINT');
    expect({ out, notes }[where]).toMatch(said);
    expect(kill.mock.calls).toEqual([[process.pid, 'SIGINT']]);
  },
);

test('dropsCommand() says nothing of the kind to a prompt elsewhere', async () => {
  const before = process.listenerCount('SIGINT');
  await dropsCommand({ socket: '/s', output: 'json', agents: 'sluice', follow: true, remote: true });
  expect(process.listenerCount('SIGINT')).toBe(before);
});

test.each([
  ['shop/db', 'no denied connection\n'],
  ['shop/bd', 'no denied connection, and the agent knows no pod shop/bd\n'],
])('dropsCommand() says whether the agent knows the pod %s that nothing is found of', async (pod, said) => {
  facts = { ...NO_DENIALS, limits: { perSource: rate, inAll: rate } };
  await dropsCommand({ socket: '/s', output: 'text', agents: 'sluice', pod });
  expect(out.startsWith(said)).toBe(true);
});

test.each([
  [{ follow: true }, [3]],
  [{ follow: true, last: 1 }, [2, 3]],
  [{ follow: true, since: 1_000 }, [2, 3]],
  [{ since: 1_000 }, [2]],
  [{ last: 1 }, [2]],
  [{ port: '!1' }, [2]],
  [{}, [1, 2]],
])('dropsCommand() shows of what is recorded and of what comes, by %j: %j', async (options, ports) => {
  facts = { ...NO_DENIALS, limits: { perSource: rate, inAll: rate } };
  [recorded, live] = [[numbered(1), { ...numbered(2), atMs: Date.now() - 500_000 }], [numbered(3)]];
  await dropsCommand({ socket: '/s', output: 'json', agents: 'sluice', ...options });
  expect(
    out
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line).port),
  ).toEqual(ports);
});
