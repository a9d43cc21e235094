import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../test/support/seed.ts';
import type { Address } from '../model/address.ts';
import { Leases } from './leases.ts';
import { LIFETIMES, NAMES_LIMITS, periodMs } from './leasetable.ts';
import type { DnsAnswer } from './message.ts';
import type { LeaseChange, NamesPod, NamesSet } from './subjects.ts';

const WEB: NamesPod = { key: 'shop/web', addresses: ['10.1.0.1', 'fd00::1'] as Address[], sets: ['names-A'] };
const DB: NamesPod = { key: 'shop/db', addresses: ['10.1.0.2'] as Address[], sets: ['names-A', 'names-B'] };
const A: NamesSet = { name: 'names-A', patterns: ['www.example.org', '*.cdn.example'], command: 2 };
const B: NamesSet = { name: 'names-B', patterns: ['*.example.org'], command: 4 };
const SUBJECTS = { pods: [WEB, DB], sets: [A, B] };

function answer(names: string | string[], addresses: string[], ttlSeconds = 300): DnsAnswer {
  return {
    names: [names].flat(),
    addresses: addresses.map(address => ({ address: address as Address, ttlSeconds })),
  };
}

const text = ({ kind, set, pod, peer }: LeaseChange) => `${kind} ${set} ${pod} . ${peer}`;

function opened(limits = NAMES_LIMITS) {
  const leases = new Leases(LIFETIMES, limits);
  leases.configure(SUBJECTS, 0);
  const answered = (pod: string, ...rest: [...Parameters<typeof answer>, number?]) => {
    const [names, addresses, ttl, nowMs = 0] = rest;
    return leases.recordAnswer(pod as Address, answer(names, addresses, ttl), nowMs).map(text);
  };
  return { leases, answered, tick: (nowMs: number) => leases.tick(nowMs).map(text) };
}

describe('Leases', () => {
  it('learns an address for the pod that got the answer, in the sets of the name', () => {
    const { answered } = opened();
    expect(answered('10.1.0.1', 'www.example.org', ['192.0.2.1'])).toEqual([
      'learn names-A 10.1.0.1 . 192.0.2.1',
    ]);
    expect(answered('10.1.0.2', 'www.example.org', ['192.0.2.1'])).toEqual([
      'learn names-A 10.1.0.2 . 192.0.2.1',
      'learn names-B 10.1.0.2 . 192.0.2.1',
    ]);
    expect(answered('10.1.0.1', 'other.example.org', ['192.0.2.9'])).toEqual([]);
    expect(answered('10.9.9.9', 'www.example.org', ['192.0.2.9'])).toEqual([]);
  });

  it('C55: learns an IPv6 address for the pod’s IPv6 address, whatever the question came by', () => {
    const { answered } = opened();
    expect(answered('10.1.0.1', 'a.cdn.example', ['2001:db8::1'])).toEqual([
      'learn names-A fd00::1 . 2001:db8::1',
    ]);
    expect(answered('10.1.0.2', 'a.cdn.example', ['2001:db8::1'])).toEqual([]);
  });

  it('C41: an address ends TTL and grace after the last answer, two minutes at least, a day at most', () => {
    for (const [ttl, endMs] of [
      [0, 120_000],
      [109, 120_000],
      [300, 310_000],
      [1e9, 86_400_000],
    ] as const) {
      const { answered, leases } = opened();
      answered('10.1.0.1', 'www.example.org', ['192.0.2.1'], ttl);
      expect([...leases.pods()].flatMap(pod => [...pod.leases()]).map(({ untilMs }) => untilMs)).toEqual([
        endMs,
      ]);
    }
  });

  it('C41: the later end counts, and an address that a newer answer does not have keeps its own', () => {
    const { answered, tick } = opened();
    answered('10.1.0.1', 'www.example.org', ['192.0.2.1'], 300, 0);
    answered('10.1.0.1', 'www.example.org', ['192.0.2.1'], 0, 1_000);
    answered('10.1.0.1', 'www.example.org', ['192.0.2.2'], 600, 2_000);
    expect(tick(309_999)).not.toContain('forget names-A 10.1.0.1 . 192.0.2.1');
    expect(tick(310_000)).toContain('forget names-A 10.1.0.1 . 192.0.2.1');
  });

  it('renews what goes on longer than the kernel’s lease, in time', () => {
    const { answered, tick } = opened();
    answered('10.1.0.1', 'www.example.org', ['192.0.2.1'], 3_600);
    expect(tick(300_000)).toEqual([]);
    expect(tick(300_001)).toEqual(['learn names-A 10.1.0.1 . 192.0.2.1']);
    expect(tick(300_002)).toEqual([]);
  });

  it('forgets an address when the last of the names ends that lead to it', () => {
    const { answered, tick } = opened();
    answered('10.1.0.1', ['www.example.org', 'a.cdn.example'], ['192.0.2.1'], 200);
    answered('10.1.0.1', 'b.cdn.example', ['192.0.2.1'], 400);
    expect(tick(250_000)).toEqual([]);
    expect(tick(410_000)).toEqual(['forget names-A 10.1.0.1 . 192.0.2.1']);
  });

  it('forgets a pod’s leases when it ends, and not another pod’s', () => {
    const { answered, leases } = opened();
    answered('10.1.0.1', 'www.example.org', ['192.0.2.1']);
    answered('10.1.0.2', 'www.example.org', ['192.0.2.1']);
    expect(leases.configure({ ...SUBJECTS, pods: [DB] }, 0).map(text)).toEqual([
      'forget names-A 10.1.0.1 . 192.0.2.1',
    ]);
  });

  it('fills a set that is created again, and never deletes an element that stays', () => {
    const { answered, leases } = opened();
    answered('10.1.0.1', 'www.example.org', ['192.0.2.1']);
    const changed = { ...WEB, sets: ['names-A', 'names-B'] };
    expect(leases.configure({ ...SUBJECTS, pods: [changed, DB] }, 0).map(text)).toEqual([
      'learn names-A 10.1.0.1 . 192.0.2.1',
      'learn names-B 10.1.0.1 . 192.0.2.1',
    ]);
  });

  it('takes over the elements in the kernel, until their leases end', () => {
    const { leases, answered, tick } = opened();
    const stands = {
      set: 'names-A',
      pod: '10.1.0.1' as Address,
      peer: '192.0.2.1' as Address,
      leftMs: 50_000,
    };
    const others = [
      { ...stands, pod: '10.9.9.9' as Address },
      { ...stands, set: 'names-B' },
    ];
    leases.recover([stands, ...others], 0, () => Number.NaN);
    expect(leases.size).toBe(1);
    answered('10.1.0.1', 'www.example.org', ['192.0.2.1'], 300);
    expect(tick(50_000)).toEqual([]);
    expect(tick(310_000)).toEqual(['forget names-A 10.1.0.1 . 192.0.2.1']);
  });

  it('forgets elements that were in the kernel and are not answered again, with their leases', () => {
    const { leases, tick } = opened();
    const found = { set: 'names-A', pod: '10.1.0.1' as Address, peer: '192.0.2.1' as Address };
    leases.recover([{ ...found, leftMs: 50_000 }], 0, () => Number.NaN);
    expect(tick(49_999)).toEqual([]);
    expect(tick(50_000)).toEqual(['forget names-A 10.1.0.1 . 192.0.2.1']);
    expect(leases.size).toBe(0);
  });

  it('C57: keeps 1,000 addresses of a name: the one with the oldest answer goes', () => {
    const { answered, leases } = opened();
    const addresses = Array.from({ length: 1_001 }, (_, i) => `10.7.${i >> 8}.${i & 255}`);
    const changes = answered('10.1.0.1', 'www.example.org', addresses);
    expect(changes.filter(change => change.startsWith('forget'))).toEqual([
      'forget names-A 10.1.0.1 . 10.7.0.0',
    ]);
    expect([leases.size, leases.evicted]).toEqual([1_000, 1]);
  });

  it('C57: a pod with names without end takes nothing from another', () => {
    const { answered, leases } = opened({ perName: 10, perPod: 50, perNode: 60 });
    for (let i = 0; i < 20; i++) answered('10.1.0.2', 'www.example.org', [`192.0.2.${i % 10}`]);
    for (let i = 0; i < 20_000; i++)
      answered('10.1.0.1', `n${i}.cdn.example`, [`10.8.${(i >> 8) & 255}.${i & 255}`]);
    const sizes = [...leases.pods()].map(pod => [pod.pod.key, pod.size]);
    expect(sizes).toEqual([
      ['shop/web', 50],
      ['shop/db', 10],
    ]);
  });

  it('C57: a namespace with many pods takes nothing from another that has less than its share', () => {
    const evil = Array.from({ length: 50 }, (_, i) => ({
      key: `evil/${i}` as const,
      addresses: [`10.2.0.${i}` as Address],
      sets: ['names-A'],
    }));
    const leases = new Leases(LIFETIMES, { perName: 1_000, perPod: 100, perNode: 200 });
    leases.configure({ pods: [WEB, ...evil], sets: [A] }, 0);
    const tell = (pod: string, i: number) => {
      const address = `10.9.${i >> 8}.${i & 255}`;
      leases.recordAnswer(pod as Address, answer(`n${i}.cdn.example`, [address]), 0);
    };
    for (let i = 0; i < 90; i++) tell('10.1.0.1', i);
    for (let i = 0; i < 5_000; i++) tell(`10.2.0.${i % 50}`, i);
    expect([...leases.pods()].find(({ pod }) => pod === WEB)!.size).toBe(90);
    expect(leases.size).toBe(200);
    expect(leases.evicted).toBe(5_000 - 110);
  });

  it('C41: an address that is in use goes on for the floor, and ends when it is no more', () => {
    const { leases, answered, tick } = opened();
    answered('10.1.0.1', 'www.example.org', ['192.0.2.1', '2001:db8::1'], 30);
    answered('10.1.0.2', 'www.example.org', ['192.0.2.1'], 30);
    expect(leases.ending(119_999)).toEqual([]);
    expect(leases.ending(120_000)).toEqual([
      { pod: '10.1.0.1', peer: '192.0.2.1' },
      { pod: 'fd00::1', peer: '2001:db8::1' },
      { pod: '10.1.0.2', peer: '192.0.2.1' },
    ]);
    leases.inUse([{ pod: '10.1.0.1' as Address, peer: '192.0.2.1' as Address }], 100_000);
    leases.drainUpdates();
    expect(tick(120_000)).toEqual([
      'forget names-A fd00::1 . 2001:db8::1',
      'forget names-A 10.1.0.2 . 192.0.2.1',
      'forget names-B 10.1.0.2 . 192.0.2.1',
    ]);
    expect(tick(219_999)).toEqual([]);
    expect(tick(220_000)).toEqual(['forget names-A 10.1.0.1 . 192.0.2.1']);
  });

  it('C41: addresses in use are renewed in the kernel, and reported again', () => {
    const { leases, answered, tick } = opened();
    answered('10.1.0.1', 'www.example.org', ['192.0.2.1'], 30);
    leases.drainUpdates();
    const pair = { pod: '10.1.0.1' as Address, peer: '192.0.2.1' as Address };
    const renewed: string[] = [];
    for (let nowMs = 60_000; nowMs < 1_800_000; nowMs += 60_000) {
      leases.inUse([pair], nowMs);
      expect(leases.drainUpdates()).toMatchObject([{ name: 'www.example.org', untilMs: nowMs + 120_000 }]);
      renewed.push(...tick(nowMs + 1_000));
    }
    expect(new Set(renewed)).toEqual(new Set(['learn names-A 10.1.0.1 . 192.0.2.1']));
    expect(renewed.length).toBeGreaterThan(2);
  });

  it('reports new leases and those about to end at once, and prolonged ones with all others', () => {
    const { answered, leases } = opened();
    const tell = (ttl: number, nowMs: number) =>
      answered('10.1.0.1', 'www.example.org', ['192.0.2.1'], ttl, nowMs);
    tell(300, 0);
    expect(leases.drainUpdates()).toMatchObject([{ untilMs: 310_000 }]);
    tell(300, 1_000);
    expect(leases.drainUpdates()).toEqual([]);
    expect(leases.drainAllUpdates()).toMatchObject([{ toldMs: 1_000, untilMs: 311_000 }]);
    expect(leases.drainAllUpdates()).toEqual([]);
    tell(0, 260_000);
    expect(leases.drainUpdates()).toMatchObject([{ toldMs: 260_000, untilMs: 380_000 }]);
  });

  it('says a later end before the one that was said is over', () => {
    const step = fc.record({ afterMs: fc.nat(150_000), ttl: fc.constantFrom(0, 120, 1_000) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), fc.nat(30_000), (steps, firstMs) => {
        const { answered, tick, leases } = opened();
        let [nowMs, allMs, saidMs] = [firstMs, 0, 0];
        for (const { afterMs, ttl } of steps) {
          answered('10.1.0.1', 'www.example.org', ['192.0.2.1'], ttl, nowMs);
          for (const endMs = nowMs + afterMs; nowMs < endMs; nowMs += 1_000) {
            tick(nowMs);
            const isAll = nowMs - allMs >= periodMs(LIFETIMES);
            if (isAll) allMs = nowMs;
            for (const { untilMs } of isAll ? leases.drainAllUpdates() : leases.drainUpdates())
              saidMs = untilMs;
            if (leases.size > 0) expect(saidMs).toBeGreaterThan(nowMs);
          }
        }
      }),
    );
  });

  it('holds in the kernel just what has not ended, whatever happens in whatever order', () => {
    const step = fc.record({
      pod: fc.constantFrom('10.1.0.1', '10.1.0.2'),
      name: fc.constantFrom('www.example.org', 'x.example.org', 'a.cdn.example', 'no.example'),
      address: fc.nat(30).map(i => `192.0.2.${i}`),
      ttl: fc.constantFrom(0, 100, 1_000),
      afterMs: fc.nat(100_000),
      subjects: fc.constantFrom(
        undefined,
        SUBJECTS,
        { pods: [DB], sets: [A, B] },
        { pods: [WEB, { ...DB, sets: ['names-B'] }], sets: [A, B] },
      ),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), steps => {
        const leases = new Leases(LIFETIMES, { perName: 5, perPod: 12, perNode: 16 });
        leases.configure(SUBJECTS, 0);
        const kernel = new Map<string, number>();
        let nowMs = 0;
        const apply = (changes: readonly LeaseChange[]) => {
          for (const change of changes) {
            const element = text(change).replace(/^\w+ /, '');
            if (change.kind === 'learn') kernel.set(element, nowMs + LIFETIMES.leaseMs);
            else kernel.delete(element);
          }
        };
        for (const { pod, name, address, ttl, afterMs, subjects } of steps) {
          for (const endMs = nowMs + afterMs; nowMs < endMs; nowMs = Math.min(nowMs + 1_000, endMs))
            apply(leases.tick(nowMs));
          apply(leases.tick(nowMs));
          if (subjects !== undefined) apply(leases.configure(subjects, nowMs));
          apply(leases.recordAnswer(pod as Address, answer(name, [address], ttl), nowMs));
          const wanted = new Set(
            [...leases.pods()].flatMap(each =>
              [...each.leases()].flatMap(lease => each.learn(lease).map(text)),
            ),
          );
          expect(new Set([...kernel.keys()].map(element => `learn ${element}`))).toEqual(wanted);
          for (const untilMs of kernel.values()) expect(untilMs).toBeGreaterThan(nowMs);
          expect(leases.size).toBeLessThanOrEqual(16);
          for (const each of leases.pods()) expect(each.size).toBeLessThanOrEqual(12);
        }
      }),
      { numRuns: runs(150) },
    );
  });
});
