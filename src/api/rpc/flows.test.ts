import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import type { Denial } from '../../observe/denials/denial.ts';
import type { SeenFlow } from '../../observe/flows/seenflow.ts';
import type { FlowBatch } from '../../observe/flows/source.ts';
import type { FlowsResponse } from './messages.ts';
import { sendFlows } from './streams.ts';

/** A call whose buffer is full after each message, until it drains. */
class FakeCall extends EventEmitter {
  readonly written: FlowsResponse[] = [];
  isSlow = false;

  write(message: FlowsResponse): boolean {
    this.written.push(message);
    return !this.isSlow;
  }

  get numbers(): number[] {
    return this.written.flatMap(({ flows }) =>
      flows === '' ? [] : (JSON.parse(flows) as SeenFlow[]).map(({ number }) => number),
    );
  }
}

function site() {
  const followers = new Set<(batch: FlowBatch) => void>();
  const deniedTo = new Set<(denial: Denial) => void>();
  const joined = <T>(all: Set<T>) => ({
    facts: () => ({ isOpen: all.size > 0 }),
    follow: (follower: T) => {
      all.add(follower);
      return () => all.delete(follower);
    },
  });
  const call = new FakeCall();
  const view = { flows: joined(followers), denials: joined(deniedTo) };
  sendFlows(...([call, view] as unknown as Parameters<typeof sendFlows>));
  let number = 0;
  const come = (count: number, lost = 0, more = {}) => {
    const flows = Array.from({ length: count }, () => ({ number: ++number, ...more }) as SeenFlow);
    for (const follow of followers) follow({ flows, lost });
  };
  return { call, come, followers, deniedTo };
}

test('sendFlows() asks the kernel before it says whether that tells, and leaves no follower behind', () => {
  const { call, followers, deniedTo } = site();
  expect(JSON.parse(call.written[0]!.facts)).toEqual({ isOpen: true });
  call.emit('cancelled');
  expect([followers.size, deniedTo.size]).toEqual([0, 0]);
});

test('sendFlows() keeps the order for a slow reader, and counts what it did not wait for', () => {
  const { call, come } = site();
  call.isSlow = true;
  come(1);
  come(8_000, 3);
  come(200);
  come(190, 4);
  while (call.written.length < 4) call.emit('drain');
  expect(call.written.map(({ lost, skipped }) => [lost, skipped])).toEqual([
    [0, 0],
    [0, 0],
    [3, 0],
    [4, 200],
  ]);
  expect(call.numbers).toHaveLength(8_191);
  come(8_000);
  come(193);
  for (let i = 0; i < 3; i++) call.emit('drain');
  expect(call.written.at(-1)).toMatchObject({ flows: '', skipped: 193 });
  expect(call.numbers[8_190]).toBe(8_391);
});

test('sendFlows() tells of denied connections in between', () => {
  const { call, come, deniedTo } = site();
  come(1);
  for (const follow of deniedTo) follow({ number: 5 } as Denial);
  expect(call.written.map(({ denials }) => denials)).toEqual(['', '', '[{"number":5}]']);
});

test('sendFlows() splits what comes at once into messages of less than 1 MB, in order', () => {
  const { call, come } = site();
  come(300, 2, { text: 'x'.repeat(20_000) });
  expect(Math.max(...call.written.map(({ flows }) => flows.length))).toBeLessThan(1 << 20);
  expect(call.numbers).toEqual(Array.from({ length: 300 }, (_, n) => n + 1));
  expect(call.written.reduce((sum, { lost }) => sum + lost, 0)).toBe(2);
});

test('sendFlows() lets no more than 4 MB wait, and counts the rest', () => {
  const { call, come } = site();
  call.isSlow = true;
  for (let i = 0; i < 3; i++) come(1_000, 0, { text: 'x'.repeat(20_000) });
  const before = call.numbers.length;
  for (let i = 0; i < 50; i++) call.emit('drain');
  const text = call.written.slice(2).reduce((sum, { flows }) => sum + flows.length, 0);
  expect(text).toBeGreaterThan(3 << 20);
  expect(text).toBeLessThanOrEqual(4 << 20);
  const skipped = call.written.reduce((sum, message) => sum + message.skipped, 0);
  expect([before < 20, call.numbers.length + skipped]).toEqual([true, 3_000]);
  call.isSlow = false;
  come(1);
  expect(call.numbers.at(-1)).toBe(3_001);
});
