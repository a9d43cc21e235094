import { describe, expect, test } from 'vitest';
import { KernelError } from '../nft/kernel.ts';
import { isPolicyFault, type Suspicion } from './failure.ts';

const refused = (code: string) => new KernelError(code, `${code}: as the test wants it`);
const STEP = { op: 'addChain', family: 'ip', chain: 'in' } as const;
const refusedStep = (code: string) => new KernelError(code, `${code}: as the test wants it`, { op: STEP });

const FIRST: Suspicion = {
  error: refused('EINVAL'),
  isTrial: false,
  isSettling: false,
  isExplained: false,
  failuresBefore: 0,
};

describe('isPolicyFault()', () => {
  test.each<[string, Partial<Suspicion>, boolean]>([
    ['a change that the kernel named, at once', { isExplained: true }, true],
    ['nobody where the kernel named no change', {}, false],
    ['somebody when it refuses again', { failuresBefore: 1 }, true],
    ['who is on trial, at once', { isTrial: true }, true],
    ['others where the rest is refused too', { isSettling: true }, true],
    [
      'nobody for what our picture of the kernel may cause',
      { error: refused('ENOENT'), isExplained: true },
      false,
    ],
    [
      'nobody while the engine and the socket are in doubt',
      { error: refused('EBUSY'), failuresBefore: 2 },
      false,
    ],
    ['somebody when these were made anew', { error: refused('EBUSY'), failuresBefore: 3 }, true],
    [
      'who is on trial, whatever the kernel says of the batch',
      { error: refused('ENOMEM'), isTrial: true },
      true,
    ],
    ['who has a rule that is too large, at once', { error: refused('EFBIG'), isExplained: true }, true],
    [
      'who has a step that is refused for whatever reason',
      { error: refusedStep('ENOTEMPTY'), isExplained: true },
      true,
    ],
    [
      'somebody for such a step that is refused again',
      { error: refusedStep('EMFILE'), failuresBefore: 1 },
      true,
    ],
    [
      'nobody for a step that another owner does not let us do',
      { error: refusedStep('EPERM'), failuresBefore: 9 },
      false,
    ],
    ['nobody for another owner', { error: refused('EPERM'), failuresBefore: 9, isTrial: true }, false],
    ['nobody for a socket', { error: refused('EBADF'), failuresBefore: 9, isSettling: true }, false],
    ['nobody for an engine that breaks once', { error: new TypeError() }, false],
    ['somebody for an engine that breaks again', { error: new TypeError(), failuresBefore: 1 }, true],
  ])('blames %s', (_, suspicion, expected) => {
    expect(isPolicyFault({ ...FIRST, ...suspicion })).toBe(expected);
  });
});
