import { beforeEach, expect, test } from 'vitest';
import type { Address } from '../../model/address.ts';
import { type HostPortMapping, hostPortKey } from '../../model/hostport.ts';
import { NetworkError } from '../error.ts';
import { type HostPort, type HostPortState, HostPorts } from './hostports.ts';

const [A, B] = ['10.0.0.1', '10.0.0.2'] as Address[];
const dns = (hostPort = 53): HostPort => ({ protocol: 'UDP', hostPort, podPort: 53 });

/** A kernel that holds changes when the test says so. */
class FakeState implements HostPortState {
  readonly kept = new Map<string, HostPortMapping>();
  readonly published: string[] = [];
  #programmed = Promise.withResolvers<void>();

  mappings(): readonly HostPortMapping[] {
    return [...this.kept.values()];
  }

  change(remove: readonly HostPortMapping[], add: readonly HostPortMapping[]): void {
    for (const mapping of remove) this.kept.delete(hostPortKey(mapping));
    for (const mapping of add) this.kept.set(hostPortKey(mapping), mapping);
  }

  publish({ urgent }: { urgent: boolean }): void {
    this.published.push(urgent ? 'urgent' : 'by and by');
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

test('settle() waits until the kernel holds the ports, and has forgotten who was led elsewhere', async () => {
  let settled = false;
  await ports.claim('shop/a', [dns()], [A!]);
  expect([state.mappings().length, state.published]).toEqual([1, []]);
  const settling = ports.settle().then(() => {
    settled = true;
  });
  await ticks();
  expect([settled, forgotten, state.published]).toEqual([false, 0, ['urgent']]);
  state.commit();
  await settling;
  expect([settled, forgotten, ports.isSettling]).toEqual([true, 1, false]);
});

test('settle() throws where the kernel does not get the ports in time', async () => {
  await ports.claim('shop/a', [dns()], [A!]);
  const settling = ports.settle();
  state.refuse();
  await expect(settling).rejects.toMatchObject({ code: 'unavailable', message: 'too late' });
});

test('release() and collect() wait for no kernel, which may have no rules yet', async () => {
  state.change([], [{ ...dns(), pod: A!, owner: 'shop/a' }]);
  await ports.release([A!]);
  expect(state.mappings()).toEqual([]);
  ports.publish();
  state.change([], [{ ...dns(), pod: '10.0.0.9' as Address, owner: 'shop/dead' }]);
  expect(await ports.collect()).toHaveLength(1);
  expect([state.mappings(), forgotten, ports.isSettling]).toEqual([[], 0, true]);
  state.commit();
  await ticks();
  expect([forgotten, ports.isSettling]).toEqual([1, false]);
});

test('connections that cannot be forgotten are told to whoever waits, and harm nobody else', async () => {
  conntrackFails = true;
  state.commit();
  state.change([], [{ ...dns(54), pod: A!, owner: 'shop/a' }]);
  await ports.release([A!]);
  ports.publish();
  await ticks();
  await ports.claim('shop/b', [dns()], [B!]);
  await expect(ports.settle()).rejects.toThrow('conntrack is gone');
});

test('an owner is text that a comment of the kernel holds, whatever the runtime calls its pod', async () => {
  await ports.claim(`shop/${'ü'.repeat(300)}"` as `${string}/${string}`, [dns()], [A!]);
  expect(state.mappings()[0]!.owner).toBe(`shop/${'_'.repeat(115)}`);
});

async function ticks(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}
