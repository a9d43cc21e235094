import { describe, expect, test } from 'vitest';
import { parseAddress } from '../../model/address.ts';
import type { PodKey } from '../../model/cluster.ts';
import type { Attachment } from './attachment.ts';
import { GRACE_MS, garbageOf, type Suspects, unnamed } from './collector.ts';

const of = (device: string, index: number, pod?: PodKey): Attachment => ({
  device,
  index,
  mac: '',
  addresses: [parseAddress(`10.0.0.${index}`)!],
  ...(pod && { owner: { pod, interface: 'eth0', sandbox: device } }),
});
const NOBODY = new Set<string>();
const NOTHING: Suspects = new Map();

function collected(
  attachments: readonly Attachment[],
  pods: ReadonlySet<PodKey> | undefined,
  before: Suspects,
  nowMs = GRACE_MS,
  busy = NOBODY,
) {
  const { garbage } = garbageOf(attachments, { ...(pods && { pods }), busy, nowMs }, before);
  return garbage.map(({ attachment, reason }) => `${attachment.device}: ${reason}`);
}

describe('garbageOf()', () => {
  const long = new Map([['sl1', 0]]);

  test('takes what belongs to no pod of the node, when it has looked so for a minute', () => {
    const all = [of('sl1', 1, 'shop/gone'), of('sl2', 2, 'shop/web')];
    const pods = new Set<PodKey>(['shop/web']);
    expect(collected(all, pods, NOTHING)).toEqual([]);
    expect(collected(all, pods, long, GRACE_MS - 1)).toEqual([]);
    expect(collected(all, pods, long)).toEqual(['sl1: no such pod runs on this node']);
  });

  test('takes nothing for a pod that is missing while the cluster cannot be asked', () => {
    expect(collected([of('sl1', 1, 'shop/gone')], undefined, long)).toEqual([]);
  });

  test('takes what was left half made, and what a younger interface of the pod replaced', () => {
    expect(collected([of('sl1', 1)], undefined, long)).toEqual(['sl1: it was left half made']);
    const twice = [of('sl1', 1, 'shop/web'), of('sl2', 2, 'shop/web')];
    expect(collected(twice, new Set<PodKey>(['shop/web']), long)).toEqual([
      "sl1: sl2 is the pod's interface now",
    ]);
  });

  test('leaves alone what is being worked on', () => {
    expect(collected([of('sl1', 1)], undefined, long, GRACE_MS, new Set(['sl1']))).toEqual([]);
  });

  test('forgets the suspicion when the pod turns up', () => {
    const all = [of('sl1', 1, 'shop/web')];
    const none = { pods: new Set<PodKey>(), busy: NOBODY, nowMs: 5 };
    const { suspects } = garbageOf(all, none, NOTHING);
    expect([...suspects]).toEqual([['sl1', 5]]);
    const there = { pods: new Set<PodKey>(['shop/web']), busy: NOBODY, nowMs: 6 };
    expect([...garbageOf(all, there, suspects).suspects]).toEqual([]);
  });
});

test('unnamed() takes at once what the runtime does not name', () => {
  const all = [of('sl1', 1, 'shop/a'), of('sl2', 2, 'shop/b'), of('sl3', 3)];
  const taken = unnamed(all, new Set(['sl2']), new Set(['sl3']));
  expect(taken.map(({ attachment }) => attachment.device)).toEqual(['sl1']);
});
