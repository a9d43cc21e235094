import { describe, expect, test } from 'vitest';
import { ApiError, unlessForbidden } from './api.ts';

describe('unlessForbidden()', () => {
  const forbidding = (times: number, then: () => boolean) => {
    let asked = 0;
    return async () => {
      if (asked++ < times) throw new ApiError(403, 'forbidden');
      return then();
    };
  };

  test('asks again until the server has forgotten the token', async () => {
    expect(
      await unlessForbidden(
        forbidding(3, () => true),
        60_000,
        1,
      ),
    ).toBe(true);
  });

  test('gives up on a right that is lacking for good', async () => {
    await expect(
      unlessForbidden(
        forbidding(Number.POSITIVE_INFINITY, () => true),
        0,
        1,
      ),
    ).rejects.toThrow('forbidden');
  });

  test('does not ask again what failed otherwise', async () => {
    const failing = async () => {
      throw new ApiError('unreachable', 'gone');
    };
    await expect(unlessForbidden(failing, 60_000, 60_000)).rejects.toThrow('gone');
  });
});
