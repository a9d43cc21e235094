/**
 * Which connections a commit may deny, decided on real rules: the output of the incremental engine and plan for real
 * events.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { comingChanges } from '../../../test/support/agent/replay.ts';
import { flowsArbitrary } from '../../../test/support/arbitrary/cluster.ts';
import { historyArbitrary, type Step } from '../../../test/support/arbitrary/events.ts';
import { nodeEvent, shopPod, shopPolicy } from '../../../test/support/scenarios/shop.ts';
import { runs } from '../../../test/support/seed.ts';
import { Incremental } from '../../compiler/live/incremental.ts';
import { familyOf } from '../../model/address.ts';
import { type ClusterEvent, ClusterState } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import { plan } from '../../nft/plan/plan.ts';
import type { Ruleset } from '../../nft/ruleset.ts';
import { packet } from '../../nft/trace/packet.ts';
import { trace } from '../../nft/trace/trace.ts';
import { type AffectedAddresses, affectedAddresses, merge } from './tightening.ts';

const allow = (...apps: string[]) =>
  shopPolicy('db', {
    podSelector: { matchLabels: { app: 'db' } },
    policyTypes: ['Ingress'],
    ingress: [{ from: apps.map(app => ({ podSelector: { matchLabels: { app } } })) }],
  });
const allowPort = (port: number, ...apps: string[]) =>
  shopPolicy('db', {
    podSelector: { matchLabels: { app: 'db' } },
    policyTypes: ['Ingress'],
    ingress: [{ from: apps.map(app => ({ podSelector: { matchLabels: { app } } })), ports: [{ port }] }],
  });

const CAST = [
  nodeEvent('n1', ['172.18.0.1']),
  shopPod('shop/db', 'n1', ['10.1.0.1']),
  shopPod('shop/web', 'n2', ['10.2.0.1']),
  shopPod('shop/api', 'n2', ['10.2.0.2']),
];

/** The addresses that the last of some changes affects. */
function concern(...changes: readonly (readonly ClusterEvent[])[]): AffectedAddresses {
  const engine = new Incremental('n1');
  let before: Ruleset | undefined;
  let found: AffectedAddresses = 'none';
  for (const events of [CAST, ...changes]) {
    for (const event of events) engine.apply(event);
    const after = engine.flush();
    found = affectedAddresses(before, after, plan(before ?? { tables: new Map() }, after));
    before = after;
  }
  return found;
}

const gone = (key: `shop/${string}`): ClusterEvent => ({ type: 'pod', key });

describe('nobody is concerned by', () => {
  test.each<[string, ClusterEvent[], ClusterEvent[]]>([
    ['a peer that a rule allows in addition', [allow('web')], [allow('web', 'api')]],
    [
      'a peer that a rule with a port allows in addition',
      [allowPort(80, 'web')],
      [allowPort(80, 'web', 'api')],
    ],
    [
      'a pod that comes to match a rule that allows',
      [allow('web')],
      [shopPod('shop/web-2', 'n2', ['10.2.0.9'], { app: 'web' })],
    ],
    ['a pod of this node that goes', [allow('web')], [gone('shop/db')]],
    ['a node that goes', [nodeEvent('n3', ['172.18.0.3'])], [{ type: 'node', key: 'n3' }]],
    ['a policy that goes', [allow('web')], [{ type: 'policy', key: 'NetworkPolicy shop/db' }]],
    ['a pod that no policy has to do with', [allow('web')], [shopPod('shop/other', 'n2', ['10.2.0.8'])]],
  ])('%s', (_, before, after) => {
    expect(concern(before, after)).toBe('none');
  });
});

describe('only one address is concerned by', () => {
  test.each<[string, ClusterEvent[], ClusterEvent[], string]>([
    ['a pod that a rule allowed and that goes', [allow('web')], [gone('shop/web')], '10.2.0.1'],
    [
      'a pod that loses the label that let it in',
      [allow('web')],
      [shopPod('shop/web', 'n2', ['10.2.0.1'], { app: 'x' })],
      '10.2.0.1',
    ],
    [
      'a pod that comes to be selected',
      [allow('web')],
      [shopPod('shop/db-2', 'n1', ['10.1.0.7'], { app: 'db' })],
      '10.1.0.7',
    ],
    ['the first policy of a pod', [], [allow('web')], '10.1.0.1'],
    ['a node that joins, and its tunnels', [], [nodeEvent('n3', ['172.18.0.3'])], '172.18.0.3'],
  ])('%s', (_, before, after, address) => {
    expect(concern(before, after)).toEqual(new Set([address]));
  });
});

test('a peer that a rule allows no more concerns the pods of that rule, and nobody of another class', () => {
  const other = shopPolicy('api', { podSelector: { matchLabels: { app: 'web' } } });
  const elsewhere = shopPod('shop/web-1', 'n1', ['10.1.0.8'], { app: 'web' });
  const db = new Set(['10.1.0.1']);
  expect(concern([elsewhere, other, allow('web', 'api')], [allow('web')])).toEqual(db);
  expect(concern([elsewhere, other, allowPort(80, 'web', 'api')], [allowPort(80, 'web')])).toEqual(db);
  expect(concern([allowPort(80, 'web')], [allowPort(81, 'web')])).toEqual(db);
});

test('everybody is concerned by what nobody knows', () => {
  expect(concern()).toBe('all');
});

test('concerns of several commits add up', () => {
  const [a, b] = [new Set(['10.0.0.1']), new Set(['10.0.0.2'])] as unknown as AffectedAddresses[];
  expect(merge(a!, b!)).toEqual(new Set(['10.0.0.1', '10.0.0.2']));
  expect([merge('none', a!), merge(a!, 'none')]).toEqual([a, a]);
  expect([merge('all', a!), merge(a!, 'all')]).toEqual(['all', 'all']);
});

test.each([
  ['comes as it is', false],
  ['is made ready, and goes ahead', true],
])(
  'whatever a commit comes to deny is concerned by it, where a change %s',
  (_, isPrepared) => {
    const tally = { denied: 0, narrow: 0, nobody: 0, ahead: isPrepared ? 0 : Number.POSITIVE_INFINITY };
    const history = historyArbitrary(14).chain(steps =>
      flowsArbitrary(stateAfter(steps), 40).map(flows => ({ steps, flows })),
    );
    fc.assert(
      fc.property(history, ({ steps, flows }) => {
        const engine = new Incremental('n1', 'allow', 'others', undefined, { mostEntries: 0 });
        let before: Ruleset | undefined;
        for (const [at, { event, flush }] of steps.entries()) {
          if (isPrepared) engine.prepare(comingChanges(steps.slice(at)));
          engine.apply(event);
          if (!flush) continue;
          const after = engine.flush();
          if (engine.isStaged()) tally.ahead++;
          const concern = before && affectedAddresses(before, after, plan(before, after));
          if (concern === 'none') tally.nobody++;
          for (const flow of flows)
            if (before !== undefined && passes(before, flow) && !passes(after, flow)) {
              tally.denied++;
              if (concern !== 'all') tally.narrow++;
              expect(isConcerned(flow, concern!), JSON.stringify(flow)).toBe(true);
            }
          before = after;
        }
      }),
      { numRuns: runs(300, 45) },
    );
    expect(Math.min(...Object.values(tally))).toBeGreaterThan(20);
  },
  300_000,
);

function stateAfter(steps: readonly Step[]): ClusterState {
  const state = new ClusterState();
  for (const { event } of steps) state.apply(event);
  return state;
}

function passes(ruleset: Ruleset, flow: Flow): boolean {
  return (['forward', 'input'] as const).every(
    hook => trace(ruleset, familyOf(flow.from), hook, packet(flow), 'new').verdict === 'accept',
  );
}

function isConcerned({ from, to }: Flow, concern: AffectedAddresses): boolean {
  return concern === 'all' || (concern !== 'none' && (concern.has(from) || concern.has(to)));
}
