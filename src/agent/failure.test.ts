import { describe, expect, test } from 'vitest';
import { KernelError } from '../nft/kernel.ts';
import { type Recovery, type RoundFailure, recoveryFrom } from './failure.ts';

const refused = (code: string) => new KernelError(code, `${code}: as the test wants it`);

const FIRST: RoundFailure = {
  error: refused('EINVAL'),
  cause: 'change',
  failuresInARow: 1,
  engineUnproven: false,
  patient: true,
};
const RETRY = { kind: 'retry', afterMs: 100, reopenSocket: false, renewEngine: false } as const;

describe('recoveryFrom()', () => {
  test.each<[string, Partial<RoundFailure>, Recovery]>([
    ['tries again what the kernel refused', {}, RETRY],
    [
      'doubts the engine and the socket with the second failure',
      { failuresInARow: 2 },
      { ...RETRY, afterMs: 200, reopenSocket: true, renewEngine: true },
    ],
    [
      'doubts the socket from then on, and the engine no more',
      { failuresInARow: 3 },
      { ...RETRY, afterMs: 400, reopenSocket: true },
    ],
    [
      'never waits for more than five seconds',
      { failuresInARow: 60 },
      { ...RETRY, afterMs: 5000, reopenSocket: true },
    ],
    [
      'opens another socket where this one is of no use',
      { error: refused('EBADF') },
      { ...RETRY, reopenSocket: true },
    ],
    [
      'keeps the socket on which the kernel names the step that it refuses, whatever it calls the reason',
      { error: new KernelError('ENOTEMPTY', '', { op: { op: 'addChain', family: 'ip', chain: 'in' } }) },
      RETRY,
    ],
    [
      'waits at the start for another owner',
      { error: refused('EPERM'), cause: 'start' },
      { kind: 'wait for owner', afterMs: 100 },
    ],
    [
      'gives up when it has waited long enough',
      { error: refused('EPERM'), cause: 'start', patient: false },
      { kind: 'give up' },
    ],
    ['tries again where the owner changes later', { error: refused('EPERM') }, RETRY],
    [
      'starts from scratch after a broken invariant',
      { error: new TypeError() },
      { kind: 'start from scratch' },
    ],
    [
      'gives up where that breaks again',
      { error: new TypeError(), engineUnproven: true },
      { kind: 'give up' },
    ],
  ])('%s', (_, failure, recovery) => {
    expect(recoveryFrom({ ...FIRST, ...failure })).toEqual(recovery);
  });
});
