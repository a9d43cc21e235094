import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { sparingly } from './memory.ts';

const native = vi.hoisted(() => ({ declared: [] as string[], trims: 0 }));
vi.mock(import('../netlink/wire/libc.ts'), () => {
  const func = (declaration: string) => {
    native.declared.push(declaration);
    return () => ++native.trims;
  };
  return { libc: { func } } as never;
});

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

test('what malloc kept of such work is returned once, some time after it, whether it failed or not', async () => {
  expect(await sparingly(async () => 'done')).toBe('done');
  await expect(sparingly(() => Promise.reject(new Error('interrupted')))).rejects.toThrow('interrupted');
  expect(native.trims).toBe(0);
  vi.runAllTimers();
  expect(native.trims).toBe(1);
  await sparingly(async () => undefined);
  vi.runAllTimers();
  expect(native).toEqual({ declared: ['int malloc_trim(size_t pad)'], trims: 2 });
});
