/** What `sluice drops` says where a reader would wait, or parse, in vain. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type DenialsFacts, NO_DENIALS } from '../../health/denialscheck.ts';
import { type DropsOptions, dropsCommand } from './drops.ts';

const UNNAMED = { ...NO_DENIALS, error: 'another process is handed the packets' };
let facts: DenialsFacts = UNNAMED;
const agent = {
  async *drops() {
    yield { facts, skipped: 0 };
  },
};
vi.mock('../everynode/overheard.ts', () => ({ beOverheard: () => undefined }));
vi.mock('../../sources/askagent.ts', () => ({
  askAgent: (_: string, ask: (asked: typeof agent) => unknown) => ask(agent),
}));

let [out, notes] = ['', ''];
beforeEach(() => {
  [out, notes] = ['', ''];
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
afterEach(() => void vi.restoreAllMocks());

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
  const rate = { perSecond: 2, burst: 20 };
  facts = { ...NO_DENIALS, limits: { perSource: rate, inAll: rate }, denied: 9, handed: 3 };
  const options = { socket: '/run/sluice.sock', output: 'json', agents: 'sluice' } as const;
  await dropsCommand(options);
  expect(notes).toBe('');
  await dropsCommand({ ...options, remote: true });
  expect([out, notes]).toEqual([
    '',
    '9 packets denied since the agent started, 6 of them beyond the limits and not named\n',
  ]);
});
