import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../test/support/seed.ts';
import { parseAddress } from '../../model/address.ts';
import { type ClusterEvent, ClusterState, type Pod, type PodKey } from '../../model/cluster.ts';
import { LocalPods } from './localpods.ts';
import type { Sandbox } from './sandbox.ts';

const address = (text: string) => parseAddress(text)!;
const NOW = new Date('2026-01-05T00:00:00Z');

function pod(key: PodKey, uid: string, addresses: readonly string[], more: Partial<Pod> = {}): Pod {
  const [namespace = '', name = ''] = key.split('/');
  const ports = [{ name: 'web', protocol: 'TCP', port: 80 }] as const;
  const rest = { node: 'n1', hostNetwork: false, finished: false, createdAt: '2026-01-01T00:00:00Z', ports };
  return {
    key,
    namespace,
    name,
    uid,
    labels: { app: 'web' },
    addresses: addresses.map(address),
    ...rest,
    ...more,
  };
}

const reported = (value: Pod): ClusterEvent => ({ type: 'pod', key: value.key, value });

function sandbox(key: PodKey, uid: string, addresses: readonly string[], id = `${key} ${uid}`): Sandbox {
  return { id, key, uid, labels: { app: 'new' }, addresses: addresses.map(address), ownNetwork: true };
}

/** The engine's view after all published events. */
class World {
  readonly pods = new LocalPods('n1', () => NOW);
  readonly state = new ClusterState();
  published = 0;

  hear(events: readonly ClusterEvent[]): this {
    this.published += events.length;
    for (const event of events) this.state.apply(event);
    return this;
  }

  addresses(key: PodKey): readonly string[] | undefined {
    return this.state.pods.get(key)?.addresses;
  }
}

function world(...events: ClusterEvent[]): World {
  const made = new World();
  return made.hear(made.pods.merge(events));
}

test('a pod that the API server tells without an address has the one of its sandbox', () => {
  const w = world(reported(pod('shop/web', 'u1', [])));
  w.hear(w.pods.started(sandbox('shop/web', 'u1', ['10.0.0.1', 'fd00::1'])));
  expect(w.state.pods.get('shop/web')).toEqual(pod('shop/web', 'u1', ['10.0.0.1', 'fd00::1']));
});

test('what the API server says later replaces all but the addresses, and no news is published', () => {
  const w = world(reported(pod('shop/web', 'u1', [])));
  w.hear(w.pods.started(sandbox('shop/web', 'u1', ['10.0.0.1'])));
  const before = w.published;
  w.hear(w.pods.merge([reported(pod('shop/web', 'u1', ['10.0.0.1']))]));
  expect(w.published).toBe(before);
  w.hear(w.pods.merge([reported(pod('shop/web', 'u1', ['10.0.0.1'], { labels: { app: 'other' } }))]));
  expect(w.state.pods.get('shop/web')?.labels).toEqual({ app: 'other' });
});

test('a pod that only the runtime knows has its labels, no named ports, and is the youngest', () => {
  const w = world();
  w.hear(w.pods.started(sandbox('shop/web', 'u1', ['10.0.0.1'])));
  expect(w.state.pods.get('shop/web')).toEqual(
    pod('shop/web', 'u1', ['10.0.0.1'], { labels: { app: 'new' }, ports: [], createdAt: NOW.toISOString() }),
  );
  w.hear(w.pods.stopped('shop/web u1'));
  expect(w.state.pods.size).toBe(0);
});

test('a pod that is deleted by force is what it was for as long as its sandbox lives', () => {
  const last = pod('shop/web', 'u1', ['10.0.0.1'], { labels: { app: 'web', quarantine: 'yes' } });
  const w = world(reported(last));
  w.hear(w.pods.started(sandbox('shop/web', 'u1', ['10.0.0.1'])));
  w.hear(w.pods.merge([{ type: 'pod', key: 'shop/web' }]));
  expect(w.state.pods.get('shop/web')).toEqual(last);
  w.hear(w.pods.started(sandbox('shop/web', 'u2', ['10.0.0.2'])));
  expect(w.state.pods.get('shop/web')?.labels, 'a successor').toEqual({ app: 'new' });
  w.hear(w.pods.stopped('shop/web u2'));
  expect(w.state.pods.get('shop/web')).toEqual(last);
  w.hear(w.pods.stopped('shop/web u1'));
  expect(w.state.pods.get('shop/web')).toBe(undefined);
  w.hear(w.pods.started(sandbox('shop/web', 'u1', ['10.0.0.1'])));
  expect(w.state.pods.get('shop/web')?.labels, 'forgotten with its sandbox').toEqual({ app: 'new' });
});

test('a successor by the same name is taken for another pod, until the API server tells of it', () => {
  const w = world(reported(pod('shop/db-0', 'old', ['10.0.0.1'])));
  w.hear(w.pods.started(sandbox('shop/db-0', 'new', ['10.0.0.2'])));
  expect(w.state.pods.get('shop/db-0')).toMatchObject({
    uid: 'new',
    labels: { app: 'new' },
    addresses: ['10.0.0.2'],
  });
  w.hear(w.pods.merge([reported(pod('shop/db-0', 'new', []))]));
  expect(w.state.pods.get('shop/db-0')).toEqual(pod('shop/db-0', 'new', ['10.0.0.2']));
});

test('a pod whose sandbox was made anew has the new address, whatever the API server still says', () => {
  const w = world(reported(pod('shop/web', 'u1', ['10.0.0.1'])));
  w.hear(w.pods.started(sandbox('shop/web', 'u1', ['10.0.0.1'], 'first')));
  w.hear(w.pods.started(sandbox('shop/web', 'u1', ['10.0.0.2'], 'second')));
  expect(w.addresses('shop/web')).toEqual(['10.0.0.2']);
  w.hear(w.pods.stopped('first'));
  expect(w.addresses('shop/web')).toEqual(['10.0.0.2']);
});

test('an address that ended with its sandbox is nobody’s, and never the dead pod’s again', () => {
  const w = world(reported(pod('shop/web', 'u1', ['10.0.0.1'])));
  w.hear(w.pods.started(sandbox('shop/web', 'u1', ['10.0.0.1'])));
  w.hear(w.pods.stopped('shop/web u1'));
  expect(w.addresses('shop/web')).toEqual([]);
  w.hear(w.pods.merge([reported(pod('shop/web', 'u1', ['10.0.0.1'], { labels: { app: 'dying' } }))]));
  expect(w.addresses('shop/web')).toEqual([]);
  w.hear(w.pods.merge([reported(pod('shop/web', 'u2', ['10.0.0.1']))]));
  expect(w.addresses('shop/web')).toEqual(['10.0.0.1']);
});

test('a living sandbox’s address belongs to its pod alone', () => {
  const w = world(reported(pod('shop/old', 'u1', ['10.0.0.1'], { createdAt: '2027-01-01T00:00:00Z' })));
  w.hear(w.pods.started(sandbox('shop/new', 'u2', ['10.0.0.1'])));
  expect([w.addresses('shop/old'), w.addresses('shop/new')]).toEqual([[], ['10.0.0.1']]);
  w.hear(w.pods.stopped('shop/new u2'));
  expect(w.addresses('shop/old')).toEqual(['10.0.0.1']);
});

test('pods of other nodes, of the host’s network, and other objects pass as they are', () => {
  const far = pod('shop/far', 'u3', ['10.1.0.1'], { node: 'n2' });
  const host = pod('shop/host', 'u4', ['172.18.0.1'], { hostNetwork: true });
  const node: ClusterEvent = { type: 'node', key: 'n1' };
  const w = world();
  w.hear(w.pods.started(sandbox('shop/host', 'u4', [])));
  expect(w.pods.merge([reported(far), node, reported(host)])).toEqual([reported(far), node, reported(host)]);
  expect(w.pods.merge([{ type: 'pod', key: 'shop/far' }])).toEqual([{ type: 'pod', key: 'shop/far' }]);
});

test('a pod that runs on another node by now is not ours, though a sandbox of its name is left here', () => {
  const far = pod('shop/db-0', 'new', ['10.1.0.1'], { node: 'n2' });
  const w = world(reported(far));
  w.hear(w.pods.started(sandbox('shop/db-0', 'old', ['10.0.0.1'])));
  expect(w.state.pods.get('shop/db-0')).toEqual(far);
});

test('all that lives replaces what was known', () => {
  const w = world(reported(pod('a/stays', 'u1', [])), reported(pod('a/went', 'u2', ['10.0.0.2'])));
  w.hear(w.pods.started(sandbox('a/stays', 'u1', ['10.0.0.1'])));
  w.hear(w.pods.started(sandbox('a/went', 'u2', ['10.0.0.2'])));
  w.hear(
    w.pods.synchronised([sandbox('a/stays', 'u1', ['10.0.0.1']), sandbox('a/came', 'u3', ['10.0.0.3'])]),
  );
  expect(['a/stays', 'a/went', 'a/came'].map(key => w.addresses(key as PodKey))).toEqual([
    ['10.0.0.1'],
    [],
    ['10.0.0.3'],
  ]);
});

test('a runtime that is heard no more has no say: the API server’s word stands', () => {
  const w = world(reported(pod('a/both', 'u1', ['10.0.0.1'])), reported(pod('a/late', 'u2', [])));
  w.hear(w.pods.started(sandbox('a/both', 'u1', ['10.0.0.9'])));
  w.hear(w.pods.started(sandbox('a/late', 'u2', ['10.0.0.2'])));
  w.hear(w.pods.started(sandbox('a/only', 'u3', ['10.0.0.3'])));
  w.hear(w.pods.lost());
  expect([...w.state.pods.values()].map(({ key, addresses }) => [key, addresses])).toEqual([
    ['a/both', ['10.0.0.1']],
    ['a/late', []],
  ]);
});

const KEYS: readonly PodKey[] = ['a/x', 'a/y'];
const step = fc.oneof(
  fc.record({
    what: fc.constant('reported' as const),
    key: fc.constantFrom(...KEYS),
    uid: fc.constantFrom('u1', 'u2'),
    addresses: fc.subarray(['10.0.0.1', '10.0.0.2']),
    node: fc.constantFrom('n1', 'n1', 'n2', ''),
    gone: fc.boolean(),
  }),
  fc.record({
    what: fc.constantFrom('started' as const, 'started' as const, 'stopped' as const),
    key: fc.constantFrom(...KEYS),
    uid: fc.constantFrom('u1', 'u2'),
    addresses: fc.subarray(['10.0.0.1', '10.0.0.2'], { maxLength: 1 }),
  }),
);

test('whatever is told in whatever order, a pod of this node has no address that another’s sandbox has', () => {
  let met = 0;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), steps => {
      const w = world();
      const living = new Map<string, Sandbox>();
      for (const made of steps) {
        const box = sandbox(made.key, made.uid, made.addresses);
        if (made.what === 'reported') {
          const value = pod(made.key, made.uid, made.addresses, { node: made.node });
          w.hear(w.pods.merge([made.gone ? { type: 'pod', key: made.key } : reported(value)]));
        } else if (made.what === 'started') {
          // A runtime gives an address out once.
          if ([...living.values()].some(other => other.addresses.some(one => box.addresses.includes(one))))
            continue;
          living.set(box.id, box);
          w.hear(w.pods.started(box));
        } else {
          living.delete(box.id);
          w.hear(w.pods.stopped(box.id));
        }
        for (const { key, addresses } of living.values()) {
          for (const other of w.state.pods.values()) {
            if (other.key === key || other.node !== 'n1') continue;
            met++;
            expect(other.addresses.filter(one => addresses.includes(one))).toEqual([]);
          }
        }
      }
    }),
    { numRuns: runs(2_000) },
  );
  expect(met).toBeGreaterThan(runs(1_000));
});

test('a pod of another node does not have the address of a living sandbox, whichever was told first', () => {
  const claim = reported(
    pod('shop/far', 'u9', ['10.0.0.5', '10.0.9.9'], { node: 'n2', createdAt: '2026-02-01T00:00:00Z' }),
  );
  const own = sandbox('shop/web', 'u1', ['10.0.0.5']);
  const before = world(claim);
  before.hear(before.pods.started(own));
  const after = world();
  after.hear(after.pods.started(own));
  after.hear(after.pods.merge([claim]));
  for (const w of [before, after]) {
    expect(w.addresses('shop/far')).toEqual(['10.0.9.9']);
    expect(w.addresses('shop/web')).toEqual(['10.0.0.5']);
    w.hear(w.pods.stopped(own.id));
    expect(w.addresses('shop/far')).toEqual(['10.0.0.5', '10.0.9.9']);
  }
});

test('of two living sandboxes with one address the younger has it, and the older again when that has ended', () => {
  const w = world(
    reported(pod('shop/a', 'ua', [], { createdAt: '2026-07-01T00:00:00Z' })),
    reported(pod('shop/b', 'ub', [])),
  );
  w.hear(w.pods.started(sandbox('shop/a', 'ua', ['10.0.0.5'])));
  const younger = sandbox('shop/b', 'ub', ['10.0.0.5']);
  w.hear(w.pods.started(younger));
  expect([w.addresses('shop/a'), w.addresses('shop/b')]).toEqual([[], ['10.0.0.5']]);
  w.hear(w.pods.stopped(younger.id));
  expect([w.addresses('shop/a'), w.addresses('shop/b')]).toEqual([['10.0.0.5'], []]);
});

test('of a family that the runtime does not tell, the API server has the word', () => {
  const w = world(reported(pod('shop/web', 'u1', ['10.0.0.1', 'fd00::1'])));
  w.hear(w.pods.started(sandbox('shop/web', 'u1', ['10.0.0.7'])));
  expect(w.addresses('shop/web')).toEqual(['10.0.0.7', 'fd00::1']);
});

describe('of pods that are attached by ourselves', () => {
  const attached = (addresses: readonly string[], more: Partial<Sandbox> = {}): Sandbox => {
    const { labels: _, ...rest } = sandbox('shop/web', '', addresses, `sl ${addresses}`);
    return { ...rest, attached: true, ...more };
  };

  test('one has the addresses of its interface, whoever is heard first', () => {
    const w = world();
    w.hear(w.pods.started(attached(['10.0.0.1'])));
    expect([w.pods.knows('shop/web'), w.state.pods.size]).toEqual([false, 0]);
    w.hear(w.pods.merge([reported(pod('shop/web', 'u1', ['10.0.0.9']))]));
    expect([w.pods.knows('shop/web'), w.addresses('shop/web')]).toEqual([true, ['10.0.0.1']]);
  });

  test('one that nobody tells the labels of is no predecessor by its name', () => {
    const w = world(reported(pod('shop/db-0', 'old', ['10.0.0.1'])));
    w.hear(w.pods.started(attached(['10.0.0.2'], { key: 'shop/db-0', uid: 'new' })));
    expect([w.pods.knows('shop/db-0'), w.addresses('shop/db-0')]).toEqual([false, undefined]);
    w.hear(w.pods.merge([reported(pod('shop/db-0', 'new', []))]));
    expect([w.pods.knows('shop/db-0'), w.addresses('shop/db-0')]).toEqual([true, ['10.0.0.2']]);
  });

  test('one that the API server has not told of has the labels of the runtime, and is the youngest', () => {
    const w = world();
    w.hear(w.pods.started(attached(['10.0.0.1'], { labels: { app: 'new' } })));
    expect(w.state.pods.get('shop/web')).toMatchObject({
      labels: { app: 'new' },
      createdAt: NOW.toISOString(),
    });
    expect(w.state.pods.get('shop/web')).not.toHaveProperty('uid');
  });

  test('a sandbox that the runtime tells of too lives until both have told its end', () => {
    const w = world(reported(pod('shop/web', 'u1', [])));
    w.hear(w.pods.started(attached(['10.0.0.1'])));
    w.hear(w.pods.started(sandbox('shop/web', 'u1', ['10.0.0.1'], 'box')));
    w.hear(w.pods.stopped('box'));
    expect(w.addresses('shop/web')).toEqual(['10.0.0.1']);
    w.hear(w.pods.stopped('sl 10.0.0.1'));
    w.hear(w.pods.merge([reported(pod('shop/web', 'u1', ['10.0.0.1'], { labels: { app: 'dying' } }))]));
    expect(w.addresses('shop/web')).toEqual([]);
  });

  test('one is kept when the runtime falls silent, and when it does not list it yet', () => {
    const w = world(reported(pod('shop/web', 'u1', [])));
    w.hear(w.pods.started(attached(['10.0.0.1'])));
    w.hear(w.pods.synchronised([]));
    w.hear(w.pods.lost());
    expect(w.addresses('shop/web')).toEqual(['10.0.0.1']);
    w.hear(w.pods.stopped('sl 10.0.0.1'));
    w.hear(w.pods.lost());
    w.hear(w.pods.merge([reported(pod('shop/web', 'u1', ['10.0.0.1'], { labels: { app: 'dying' } }))]));
    expect(w.addresses('shop/web'), 'what we took away').toEqual([]);
  });

  test('a runtime that tells no addresses hides none', () => {
    const w = world(reported(pod('shop/web', 'u1', [])));
    w.hear(w.pods.started(attached(['10.0.0.1'])));
    w.hear(w.pods.started(sandbox('shop/web', 'u1', [], 'box')));
    expect(w.addresses('shop/web')).toEqual(['10.0.0.1']);
  });

  test('the end of an older interface leaves the younger its addresses', () => {
    const w = world(reported(pod('shop/web', 'u1', [])));
    w.hear(w.pods.started(attached(['10.0.0.1'])));
    w.hear(w.pods.started(attached(['10.0.0.2'])));
    w.hear(w.pods.stopped('sl 10.0.0.1'));
    expect(w.addresses('shop/web')).toEqual(['10.0.0.2']);
  });
});

test('living() are the pods of this node that may have an interface', () => {
  const w = world(
    reported(pod('shop/web', 'u1', [])),
    reported(pod('shop/there', 'u2', [], { node: 'n2' })),
    reported(pod('shop/done', 'u3', [], { finished: true })),
    reported(pod('shop/host', 'u4', [], { hostNetwork: true })),
  );
  w.hear(w.pods.started(sandbox('shop/new', 'u5', ['10.0.0.1'])));
  expect([...w.pods.living()]).toEqual(['shop/web']);
});
