/** What `sluice drops` says where a reader would wait, or parse, in vain. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { NO_DENIALS } from '../../health/denialscheck.ts';
import { type DropsOptions, dropsCommand } from './drops.ts';

const agent = {
  async *drops() {
    yield { facts: { ...NO_DENIALS, error: 'another process is handed the packets' }, skipped: 0 };
  },
};
vi.mock('../../sources/askagent.ts', () => ({
  askAgent: (_: string, ask: (asked: typeof agent) => unknown) => ask(agent),
}));

let [out, notes] = ['', ''];
beforeEach(() => {
  [out, notes] = ['', ''];
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
