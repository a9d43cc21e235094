/** Peers by name with real packets: the agent as it is run, a resolver behind a Service, connections at once. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { RESOLVER, SLOW } from '../../support/names/ground.ts';
import { hearingGround } from './hearingground.ts';

/** A connection may take long on a busy machine: that its first packet was lost is counted apart. */
const PATIENCE_MS = 10_000 * SLOW;
const ground = hearingGround({ names: ['*.t.example', 'exact1.example', 'n20.cdn.example.net'] });

const fresh = (from: number, count: number, kind = 'n') =>
  Array.from({ length: count }, (_, i) => `${kind}${from + i}.t.example`);

test(
  'the first packet to every fresh name passes, in both families and over both transports',
  async () => {
    const ways = [
      { names: fresh(1, 60) },
      { names: fresh(101, 60), type: 'AAAA' as const },
      { names: fresh(201, 20), type: 'AAAA' as const, resolver: RESOLVER.ip6 },
      { names: fresh(301, 20), byTcp: true },
      { names: fresh(401, 20, 'T').map(name => name.replace('T', 't')), byTcp: true, resolver: RESOLVER.ip6 },
      { names: fresh(451, 10, 't') }, // truncated by UDP, and asked again by TCP
      { names: fresh(501, 10, 'z') },
      { names: fresh(601, 10, 'N') },
    ];
    for (const way of ways) {
      const { connected, failed, lost, unanswered } = await ground.visit({ ...way, patienceMs: PATIENCE_MS });
      expect({ failed, lost, unanswered }).toEqual({ failed: [], lost: 0, unanswered: 0 });
      expect(connected).toHaveLength(way.names.length);
    }
  },
  300_000 * SLOW,
);

test('A and AAAA asked for at once, from one port: the first packet to each address passes', () => {
  const names = fresh(801, 20);
  const program = fileURLToPath(new URL('../../support/names/twins.ts', import.meta.url));
  const before = ground.repeatedFirstPackets('web');
  const words = [program, RESOLVER.ip, String(PATIENCE_MS), ...names];
  const reached = ground
    .exec(ground.pathOf('web'), process.execPath, ...words)
    .trim()
    .split('\n');
  expect(reached).toHaveLength(2 * names.length);
  expect(ground.repeatedFirstPackets('web')).toBe(before);
});

test('C40: a name that no rule has is answered, and stays denied', async () => {
  const { connected, unanswered } = await ground.visit({
    names: ['n701.other.example', 'l702.t.example', 'o703.t.example'],
    patienceMs: 300,
  });
  expect({ connected, unanswered }).toEqual({ connected: [], unanswered: 0 });
  expect(ground.isLearnt('169.254.169.254')).toBe(false);
  expect(ground.isLearnt('10.98.2.191')).toBe(false);
});
