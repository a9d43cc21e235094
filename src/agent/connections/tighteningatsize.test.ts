/**
 * Which connections a commit denies, in clusters that exceed every size limit of sets: sets of peers, maps of local
 * pods and maps of ports are changed in place, or recreated because they grew, in histories in which the agent
 * restarts.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shopPod, shopPolicy } from '../../../test/support/scenarios/shop.ts';
import { Incremental } from '../../compiler/live/incremental.ts';
import { type Address, addressFromInt } from '../../model/address.ts';
import { type ClusterEvent, ClusterState, type PodKey } from '../../model/cluster.ts';
import { clusterEvents } from '../../model/clusterevents.ts';
import type { Flow } from '../../model/flow.ts';
import { applied, plan } from '../../nft/plan/plan.ts';
import type { Ruleset } from '../../nft/ruleset.ts';
import { packet } from '../../nft/trace/packet.ts';
import { trace } from '../../nft/trace/trace.ts';
import { affectedAddresses } from './tightening.ts';

type Role = 'web' | 'api' | 'gone';
type Place = 'near' | 'far';

/** A number of pods of one place that take a role, one after the other. */
interface Crowd {
  readonly place: Place;
  readonly first: number;
  readonly count: number;
  readonly role: Role;
}

type Change =
  | ({ readonly kind: 'crowd' } & Crowd)
  | {
      readonly kind: 'policy';
      readonly name: 'first' | 'second';
      readonly from: readonly Role[];
      readonly ports: number;
    };

interface Step {
  readonly changes: readonly Change[];
  readonly restart: boolean;
}

const NODE: Record<Place, string> = { near: 'n1', far: 'n2' };
const NET: Record<Place, bigint> = { near: 1n, far: 2n };
const FIRST_PORT = 80;

const addressOf = (place: Place, index: number): Address =>
  addressFromInt('ip', (10n << 24n) | (NET[place] << 16n) | BigInt(index + 1));

function eventsOf({ place, first, count, role }: Crowd): ClusterEvent[] {
  return Array.from({ length: count }, (_, i) => {
    const key: PodKey = `shop/${place}-${first + i}`;
    if (role === 'gone') return { type: 'pod', key };
    return shopPod(key, NODE[place], [addressOf(place, first + i)], { app: role });
  });
}

function changeEvents(change: Change): ClusterEvent[] {
  if (change.kind === 'crowd') return eventsOf(change);
  const from = change.from.map(app => ({ podSelector: { matchLabels: { app } } }));
  // Every other port, so that they are no range.
  const ports = Array.from({ length: change.ports }, (_, i) => ({ port: FIRST_PORT + 2 * i }));
  const rule = { from, ...(ports.length > 0 && { ports }) };
  const spec = { podSelector: { matchLabels: { app: 'api' } }, policyTypes: ['Ingress'], ingress: [rule] };
  return [shopPolicy(change.name, spec)];
}

const crowd: fc.Arbitrary<Change> = fc.record({
  kind: fc.constant('crowd' as const),
  place: fc.constantFrom<Place>('near', 'far', 'far'),
  first: fc.constantFrom(0, 1, 100, 250, 255, 256, 300, 510),
  count: fc.constantFrom(1, 2, 6, 7, 60, 250, 260, 400),
  role: fc.constantFrom<Role>('web', 'web', 'api', 'gone'),
});

const policy: fc.Arbitrary<Change> = fc.record({
  kind: fc.constant('policy' as const),
  name: fc.constantFrom('first' as const, 'second' as const),
  from: fc.constantFrom<readonly Role[]>(['web'], ['web'], ['api'], ['web', 'api']),
  ports: fc.constantFrom(0, 0, 1, 2, 127, 128, 129, 256, 257, 300),
});

const change = fc.oneof({ weight: 4, arbitrary: crowd }, { weight: 1, arbitrary: policy });

const history: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    changes: fc.array(change, { minLength: 1, maxLength: 4 }),
    restart: fc.integer({ min: 0, max: 7 }).map(n => n === 0),
  }),
  { minLength: 3, maxLength: 8 },
);

const BEGIN: readonly Change[] = [
  { kind: 'policy', name: 'first', from: ['web'], ports: 0 },
  { kind: 'crowd', place: 'near', first: 0, count: 40, role: 'api' },
  { kind: 'crowd', place: 'far', first: 0, count: 250, role: 'web' },
];

/** From some of those that change, and of those that do not, to some that policies select. */
function flowsOf(changes: readonly Change[]): Flow[] {
  const crowds = changes.filter(one => one.kind === 'crowd');
  const ends = crowds.flatMap(({ place, first, count }) =>
    [0, 1, Math.floor(count / 2), count - 1].map(i => addressOf(place, first + i)),
  );
  const from = [...new Set([...ends, addressOf('far', 3), addressOf('far', 249)])];
  const to = [...new Set([addressOf('near', 0), addressOf('near', 300), ...ends])].filter(isNear);
  const ports = [FIRST_PORT, FIRST_PORT + 2 * 128, FIRST_PORT + 1];
  return from.flatMap(one =>
    to.flatMap(other => ports.map((port): Flow => ({ from: one, to: other, protocol: 'TCP', port }))),
  );
}

const isNear = (address: Address) => address.startsWith('10.1.');

test('whatever a commit comes to deny is affected by it, when sets are made anew and agents too', () => {
  const tally = { denied: 0, narrow: 0, remade: 0, restarts: 0 };
  fc.assert(
    fc.property(history, steps => {
      const state = new ClusterState();
      let engine = new Incremental('n1');
      let actual: Ruleset = { tables: new Map() };
      let before: Ruleset | undefined;
      for (const { changes, restart } of [{ changes: BEGIN, restart: false }, ...steps]) {
        if (restart) {
          engine = new Incremental('n1');
          for (const event of clusterEvents(state)) engine.apply(event);
          before = undefined;
          tally.restarts++;
        }
        for (const event of changes.flatMap(changeEvents)) {
          state.apply(event);
          engine.apply(event);
        }
        const after = engine.flush();
        const ops = plan(actual, after);
        const made = new Set(ops.flatMap(op => (op.op === 'addSet' ? [op.set.name] : [])));
        if (ops.some(op => op.op === 'delSet' && made.has(op.set))) tally.remade++;
        // An agent that has just started scans all connections.
        const affected = before === undefined ? 'all' : affectedAddresses(before, after, ops);
        for (const flow of flowsOf(changes))
          if (passes(actual, flow) && !passes(after, flow)) {
            tally.denied++;
            if (affected !== 'all') tally.narrow++;
            const isAffected =
              affected === 'all' ||
              (affected !== 'none' && (affected.has(flow.from) || affected.has(flow.to)));
            expect(isAffected, JSON.stringify(flow)).toBe(true);
          }
        actual = applied(actual, after);
        before = after;
      }
    }),
    { numRuns: 60 },
  );
  expect(Math.min(...Object.values(tally)), JSON.stringify(tally)).toBeGreaterThan(20);
}, 300_000);

function passes(ruleset: Ruleset, flow: Flow): boolean {
  return trace(ruleset, 'ip', 'forward', packet(flow), 'new').verdict === 'accept';
}
