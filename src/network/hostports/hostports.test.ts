import { beforeEach, expect, test } from 'vitest';
import type { Address } from '../../model/address.ts';
import { type HostPortMapping, hostPortKey } from '../../model/hostport.ts';
import { NetworkError } from '../error.ts';
import type { HostPort } from './hostport.ts';
import { type HostPortState, HostPorts } from './hostports.ts';

const [A, B] = ['10.0.0.1', '10.0.0.2'] as Address[];
const dns = (hostPort = 53): HostPort => ({ protocol: 'UDP', hostPort, podPort: 53 });

/** A kernel that holds changes when the test says so. */
class FakeState implements HostPortState {
  readonly kept = new Map<string, HostPortMapping>();
  #programmed = Promise.withResolvers<void>();

  mappings(): readonly HostPortMapping[] {
    return [...this.kept.values()];
  }

  change(remove: readonly HostPortMapping[], add: readonly HostPortMapping[]): void {
    for (const mapping of remove) this.kept.delete(hostPortKey(mapping));
    for (const mapping of add) this.kept.set(hostPortKey(mapping), mapping);
  }

  programmed(): Promise<void> {
    return this.#programmed.promise;
  }

  commit(): void {
    this.#programmed.resolve();
  }

  refuse(): void {
    this.#programmed.reject(new NetworkError('unavailable', 'too late'));
  }
}

let state: FakeState;
let ports: HostPorts;
let forgotten: number;
let conntrackFails: boolean;

beforeEach(() => {
  state = new FakeState();
  forgotten = 0;
  conntrackFails = false;
  const living = async () => new Set([A!, B!]);
  ports = new HostPorts(state, living, async () => {
    forgotten++;
    if (conntrackFails) throw new Error('conntrack is gone');
  });
});

test('open() settles when the kernel holds the ports, and has forgotten who was led elsewhere', async () => {
  let settled = false;
  const opening = ports.open('shop/a', [dns()], [A!]).then(() => {
    settled = true;
  });
  await ticks();
  expect([settled, forgotten, state.mappings().length]).toEqual([false, 0, 1]);
  state.commit();
  await opening;
  expect([settled, forgotten]).toEqual([true, 1]);
});

test('open() throws where the kernel does not get the ports in time; a pod without ports is not told', async () => {
  const opening = Promise.allSettled([ports.open('shop/a', [dns()], [A!]), ports.open('shop/b', [], [B!])]);
  state.refuse();
  expect(await opening).toMatchObject([
    { status: 'rejected', reason: { code: 'unavailable', message: 'too late' } },
    { status: 'fulfilled' },
  ]);
});

test('close() and collect() wait for no kernel, which may have no rules yet', async () => {
  state.change([], [{ ...dns(), pod: A!, owner: 'shop/a' }]);
  await ports.close([A!]);
  expect(state.mappings()).toEqual([]);
  state.change([], [{ ...dns(), pod: '10.0.0.9' as Address, owner: 'shop/dead' }]);
  expect(await ports.collect()).toHaveLength(1);
  expect([state.mappings(), forgotten]).toEqual([[], 0]);
  state.commit();
  await ticks();
  expect(forgotten).toBe(2);
});

test('connections that cannot be forgotten are told to whoever waits, and harm nobody else', async () => {
  conntrackFails = true;
  state.commit();
  state.change([], [{ ...dns(54), pod: A!, owner: 'shop/a' }]);
  await ports.close([A!]);
  await ticks();
  await expect(ports.open('shop/b', [dns()], [B!])).rejects.toThrow('conntrack is gone');
});

test('an owner is text that a comment of the kernel holds, whatever the runtime calls its pod', async () => {
  state.commit();
  await ports.open(`shop/${'ü'.repeat(300)}"` as `${string}/${string}`, [dns()], [A!]);
  expect(state.mappings()[0]!.owner).toBe(`shop/${'_'.repeat(115)}`);
});

async function ticks(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}
