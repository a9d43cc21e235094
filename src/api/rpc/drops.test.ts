import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import type { Denial } from '../../observe/denials/denial.ts';
import type { DropsResponse } from './messages.ts';
import { sendDrops } from './streams.ts';

/** A call that is written to, and says that it is full after `room` messages until it drains. */
class FakeCall extends EventEmitter {
  readonly written: DropsResponse[] = [];
  readonly request: { readonly follow: boolean };
  cancelled = false;
  isEnded = false;
  readonly #room: number;

  constructor(follow: boolean, room = Number.POSITIVE_INFINITY) {
    super();
    this.request = { follow };
    this.#room = room;
  }

  write(message: DropsResponse): boolean {
    if (this.isEnded) throw new Error('written behind the end');
    this.written.push(message);
    return this.written.length < this.#room;
  }

  end(): void {
    this.isEnded = true;
  }

  get numbers(): number[] {
    return numbersOf(this.written);
  }

  /** The ports of the denials that came before the message that ends the recorded ones. */
  get recorded(): number[] {
    const marks = this.written.flatMap(({ ends_recorded }, index) => (ends_recorded ? [index] : []));
    expect(marks).toHaveLength(1);
    return numbersOf(this.written.slice(0, marks[0]));
  }
}

const numbersOf = (messages: readonly DropsResponse[]): number[] =>
  messages.flatMap(({ denial }) => (denial === '' ? [] : [JSON.parse(denial).number]));
const denial = (number: number) => ({ number }) as Denial;

/** Three are recorded; the fourth comes while the facts are read. */
function view() {
  const recorded = [1, 2, 3].map(denial);
  const followers: ((denial: Denial) => void)[] = [];
  const come = (number: number) => {
    recorded.push(denial(number));
    for (const follower of followers) follower(denial(number));
  };
  const denials = {
    facts: async () => {
      await Promise.resolve();
      come(4);
      return {};
    },
    denials: () => recorded,
    follow: (follower: (denial: Denial) => void) => {
      followers.push(follower);
      return () => followers.splice(followers.indexOf(follower), 1);
    },
  };
  return { come, followers, agent: { denials } as unknown as Parameters<typeof sendDrops>[1] };
}

const call = (fake: FakeCall) => fake as unknown as Parameters<typeof sendDrops>[0];

test('sendDrops() loses nothing that comes while the facts are read, and tells it behind what was recorded', async () => {
  const { come, followers, agent } = view();
  const fake = new FakeCall(true);
  await sendDrops(call(fake), agent);
  come(5);
  expect(fake.written[0]).toMatchObject({ denial: '' });
  expect(fake.numbers).toEqual([1, 2, 3, 4, 5]);
  expect(fake.recorded).toEqual([1, 2, 3, 4]);
  fake.emit('cancelled');
  expect(followers).toEqual([]);
});

test('sendDrops() ends behind what waits for a slow reader', async () => {
  const { agent } = view();
  const fake = new FakeCall(false, 2);
  await sendDrops(call(fake), agent);
  expect([fake.numbers, fake.isEnded]).toEqual([[1], false]);
  while (!fake.isEnded) fake.emit('drain');
  expect(fake.numbers).toEqual([1, 2, 3, 4]);
  expect(fake.recorded).toEqual([1, 2, 3, 4]);
});
