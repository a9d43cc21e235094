import { describe, expect, test } from 'vitest';
import { KernelError } from '../../../nft/kernel.ts';
import type { Op } from '../../../nft/plan/op.ts';
import { MEMBER } from '../../../nft/ruleset.ts';
import { adoption, attemptOutcome, type Circumstances, type CommitAttempt, firstAttempt } from './attempt.ts';
import type { BatchAnswers } from './exchange.ts';

const TABLE = { family: 'ip', flags: 6 } as const;
const NOW: Circumstances = {
  generation: 7,
  nextSequence: 100,
  existing: [TABLE],
  ack: 'end',
  tableFlags: 6,
};
const ACCEPTED: BatchAnswers = { acknowledged: true, errors: [], generation: undefined, overrun: false };
const SILENCE: BatchAnswers = { ...ACCEPTED, acknowledged: false };

const PEERS = { name: 'peers', key: ['ipv4_addr'], verdicts: false, interval: false } as const;
const ADD: Op = { op: 'addElements', family: 'ip', set: PEERS, elements: [['10.0.0.1', MEMBER]] };
const DEL: Op = { op: 'delElements', family: 'ip', set: PEERS, keys: ['10.0.0.1'] };
const FLUSH: Op = { op: 'flushChain', family: 'ip', chain: 'c' };
const CHAIN: Op = { op: 'addChain', family: 'ip', chain: 'c' };

const refused = (code: string) => new KernelError(code, `${code}: no`);
const again = (attempt: CommitAttempt, code: string, circumstances = NOW): CommitAttempt => {
  const outcome = attemptOutcome(attempt, SILENCE, refused(code), circumstances);
  if (outcome.kind !== 'again') throw new Error(`${code} is not tried again: ${outcome.kind}`);
  return outcome.attempt;
};

describe('the first attempt', () => {
  test('is locked to the generation that is expected, else to the one that is known', () => {
    expect(firstAttempt([CHAIN], 5, NOW)).toMatchObject({ expected: 5, before: 5, expecting: true });
    expect(firstAttempt([CHAIN], undefined, NOW)).toMatchObject({ expected: 7, expecting: false });
  });

  test('wants elements to be new, so that it is known to make a generation', () => {
    expect(firstAttempt([ADD], undefined, NOW)).toMatchObject({ additions: 'new', echo: false, tables: [] });
    expect(firstAttempt([ADD, DEL], undefined, NOW)).toMatchObject({ additions: 'any', echo: false });
  });

  test('asks for an echo where it may change nothing', () => {
    expect(firstAttempt([FLUSH, ADD], undefined, NOW)).toMatchObject({ echo: true, tables: [TABLE] });
    expect(firstAttempt([FLUSH, DEL], undefined, NOW)).toMatchObject({ echo: false, tables: [] });
    expect(firstAttempt([FLUSH], undefined, { ...NOW, existing: [] })).toMatchObject({ echo: false });
  });

  test('takes tables over in a batch that does nothing else', () => {
    expect(adoption([TABLE], 5, NOW)).toMatchObject({ ops: [], tables: [TABLE], expected: 5, echo: false });
  });
});

describe('an accepted batch', () => {
  const outcome = (attempt: CommitAttempt, answers = ACCEPTED) =>
    attemptOutcome(attempt, answers, undefined, NOW);

  test('made the generation behind the one that it was locked to', () => {
    expect(outcome(firstAttempt([CHAIN], 5, NOW))).toEqual({ kind: 'made', generation: 6 });
    expect(outcome(firstAttempt([CHAIN], 0xffffffff, NOW))).toEqual({ kind: 'made', generation: 1 });
  });

  test('made the generation that an echo tells, or none where an echo is missing', () => {
    const attempt = firstAttempt([FLUSH], undefined, NOW);
    expect(outcome(attempt, { ...ACCEPTED, generation: 9 })).toEqual({ kind: 'made', generation: 9 });
    expect(outcome(attempt)).toEqual({ kind: 'unchanged' });
  });
});

describe('a refused batch', () => {
  test('is locked anew to the generation that is now, under numbers of its own', () => {
    const next = again(firstAttempt([CHAIN], undefined, NOW), 'ERESTART', {
      ...NOW,
      generation: 8,
      nextSequence: 200,
    });
    expect(next).toMatchObject({ before: 8, expected: 8, firstSequence: 200, number: 2, echo: false });
  });

  test('is sent without a lock and with an echo against a writer who never pauses, and ends sometime', () => {
    let attempt = firstAttempt([CHAIN], undefined, NOW);
    for (let n = 1; n <= 3; n++) attempt = again(attempt, 'ERESTART');
    expect(attempt).toMatchObject({ expected: 0, echo: true, tables: [TABLE], number: 4 });
    for (let n = 4; n < 100; n++) attempt = again(attempt, 'ERESTART');
    expect(attemptOutcome(attempt, SILENCE, refused('ERESTART'), NOW)).toMatchObject({ kind: 'failed' });
  });

  test('is not locked anew where the caller expects a generation', () => {
    expect(attemptOutcome(firstAttempt([CHAIN], 7, NOW), SILENCE, refused('ERESTART'), NOW)).toMatchObject({
      kind: 'failed',
      error: { code: 'ERESTART' },
    });
  });

  test('of new elements is sent once more with an echo, where elements stand', () => {
    const next = again(firstAttempt([ADD], undefined, NOW), 'EEXIST');
    expect(next).toMatchObject({ additions: 'any', echo: true, tables: [TABLE] });
    expect(attemptOutcome(next, SILENCE, refused('EEXIST'), NOW)).toMatchObject({ kind: 'failed' });
  });

  test.each(['ENOENT', 'EBUSY', 'EINVAL', 'EPERM', 'ENFILE'])('with %s is refused for good', code => {
    const error = refused(code);
    expect(attemptOutcome(firstAttempt([CHAIN], undefined, NOW), SILENCE, error, NOW)).toEqual({
      kind: 'failed',
      error,
    });
  });
});

describe('a batch whose answer was lost', () => {
  const fate = (answers: BatchAnswers, generation: number) =>
    attemptOutcome(firstAttempt([CHAIN], 7, NOW), answers, undefined, { ...NOW, generation });

  test('changed nothing where the generation is as before', () => {
    expect(fate({ ...SILENCE, overrun: true }, 7)).toMatchObject({
      kind: 'failed',
      error: { code: 'ENOBUFS', message: expect.stringContaining('nothing was changed') },
    });
  });

  test('may be in force where the generation moved', () => {
    expect(fate(SILENCE, 8)).toMatchObject({
      kind: 'failed',
      error: { code: 'EIO', message: expect.stringContaining('it may be in force') },
    });
  });
});
