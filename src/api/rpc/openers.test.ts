import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Openers, Reading } from '../../kernel/host/facts.ts';
import { parseAddress } from '../../model/address.ts';
import { ClusterState, type Pod, type PodKey } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import type { Conntrack } from '../../nft/conntrack.ts';
import { latestOpeners, openersOf } from './nodeview.ts';

const address = (text: string) => parseAddress(text)!;

function pod(key: PodKey, node: string, addresses: readonly string[], hostNetwork = false): Pod {
  const [namespace, name] = key.split('/') as [string, string];
  const rest = { labels: {}, finished: false, createdAt: '2026-01-01T00:00:00Z', ports: [] };
  return { key, namespace, name, node, hostNetwork, addresses: addresses.map(address), ...rest };
}

const cluster = new ClusterState();
for (const value of [
  pod('shop/web', 'n1', ['10.0.0.1', 'fd00::1']),
  pod('shop/db', 'n1', ['10.0.0.2']),
  pod('shop/far', 'n2', ['10.0.1.1']),
  pod('kube-system/proxy', 'n1', ['172.18.0.2'], true),
])
  cluster.apply({ type: 'pod', key: value.key, value });

/** Tracks connections from these addresses. */
function tracking(...openers: string[]) {
  const close = vi.fn();
  const read: Conntrack['read'] = async (_about, wanted, visit) => {
    for (const from of openers) {
      const flow: Flow = { from: address(from), to: address('10.0.0.2'), protocol: 'UDP', port: 53 };
      if (wanted(flow)) visit({ flow, handle: new Uint8Array() });
    }
  };
  return { open: () => ({ read, close }), close };
}

test('openersOf() counts what each pod of the node opened by all of its addresses, and everybody else together', async () => {
  const { open, close } = tracking(
    '10.0.0.2',
    '10.0.0.1',
    'fd00::1',
    '10.0.1.1',
    '172.18.0.2',
    '192.0.2.7',
    '10.0.0.1',
  );
  expect(await openersOf(open, cluster, 'n1')).toEqual({
    value: {
      pods: [
        { pod: 'shop/web', opened: 3 },
        { pod: 'shop/db', opened: 1 },
      ],
      others: 3,
    },
  });
  expect(close).toHaveBeenCalledOnce();
});

test('openersOf() says why it cannot read, and closes what it opened', async () => {
  const close = vi.fn();
  const read = () => Promise.reject(new Error('EPERM'));
  expect(await openersOf(() => ({ read, close }), cluster, 'n1')).toEqual({ unreadable: 'EPERM' });
  expect(close).toHaveBeenCalledOnce();
});

describe('latestOpeners()', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** Each reading returns the number of earlier readings. */
  function counted() {
    const read = vi.fn(
      async (): Promise<Reading<Openers>> => ({ value: { pods: [], others: read.mock.calls.length } }),
    );
    const latest = latestOpeners(read);
    const ask = async (isNearlyFull = true) => {
      const answer = latest(isNearlyFull);
      await vi.advanceTimersByTimeAsync(0);
      return answer && 'value' in answer ? answer.value.others : undefined;
    };
    return { read, ask };
  }

  test('reads nothing while the table has room', async () => {
    const { read, ask } = counted();
    expect(await ask(false)).toBeUndefined();
    expect(read).not.toHaveBeenCalled();
  });

  test('has nobody wait, and reads anew once what it knows is half a minute old', async () => {
    const { read, ask } = counted();
    expect([await ask(), await ask(), await ask()]).toEqual([undefined, 1, 1]);
    await vi.advanceTimersByTimeAsync(30_001);
    expect([await ask(), await ask()]).toEqual([1, 2]);
    expect(read).toHaveBeenCalledTimes(2);
  });

  test('forgets what it found once the table has room, and does not read more often for that', async () => {
    const { read, ask } = counted();
    await ask();
    expect([await ask(), await ask(false), await ask()]).toEqual([1, undefined, undefined]);
    expect(read).toHaveBeenCalledOnce();
    await vi.advanceTimersByTimeAsync(30_001);
    expect([await ask(), await ask()]).toEqual([undefined, 2]);
  });
});
