import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import type { Denial } from '../denials/denial.ts';
import type { SeenFlow } from '../flows/seenflow.ts';
import type { FlowBatch } from '../flows/source.ts';
import { sendFlows } from './flows.ts';
import type { FlowsResponse } from './messages.ts';

/** Says that it is full after each message, until it drains. */
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
  const come = (count: number, lost = 0) => {
    const flows = Array.from({ length: count }, () => ({ number: ++number }) as SeenFlow);
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
