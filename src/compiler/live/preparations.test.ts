/** Policies of hundreds of groups of hundreds of pods, made ready before they are taken in. */
import { expect, test } from 'vitest';
import { compiled, flushedEngineOf, NODE } from '../../../test/support/agent/engine.ts';
import { ingressPolicy, podEvent, policyEvent, tenantPod } from '../../../test/support/agent/tenants.ts';
import { parseAddress } from '../../model/address.ts';
import type { ClusterEvent } from '../../model/cluster.ts';
import { wholeOf } from '../../model/pieces.ts';
import type { Policy, Rule } from '../../model/policy.ts';
import { plan } from '../../nft/plan/plan.ts';
import type { Ruleset } from '../../nft/ruleset.ts';
import type { Incremental } from './incremental.ts';
import { MOST_ASKED } from './livepods.ts';

const SELECTORS = 240;
const PODS = 400;

function pod(n: number, app: string, node = 'n2'): ClusterEvent {
  const addresses = [parseAddress(`10.6.${n >> 8}.${n & 255}`)!];
  return podEvent(tenantPod('tenant', n, { labels: { app }, node, addresses }));
}

/** Each selector is a set of its own: of the pods that are red, or have another label of this version. */
function selecting(name: string, version = 0): Policy {
  const namespaces = { kind: 'name', name: 'tenant' } as const;
  const rules = Array.from({ length: SELECTORS }, (_, n): Rule => {
    const values = ['red', `${name}-${version}-${n}`];
    const requirements = [{ key: 'app', operator: 'In' as const, values }];
    return {
      path: `ingress[${n}]`,
      action: 'accept',
      peers: [{ kind: 'pods', selector: { namespaces, pods: { requirements } } }],
      ports: [{ kind: 'range', protocol: 'TCP', first: 1000 + n, last: 1000 + n }],
    };
  });
  return ingressPolicy(`tenant/${name}`, rules);
}

const pods = [
  ...Array.from({ length: PODS }, (_, n) => pod(n, 'red')),
  pod(PODS, 'blue', NODE),
  pod(PODS + 1, 'red', NODE),
];

/** How many elements a set holds that is not in the other ruleset. */
function newElements(before: Ruleset, { tables }: Ruleset): number {
  const known = before.tables.get('ip')!.sets;
  const made = [...tables.get('ip')!.sets.values()].filter(({ name }) => !known.has(name));
  return made.reduce((sum, { elements }) => sum + elements.size, 0);
}

/** Flushes until nothing is left to do; answers how many elements the new sets of each had. */
function flushAll(engine: Incremental, before: Ruleset): { counts: number[]; last: Ruleset } {
  const counts: number[] = [];
  let last = before;
  do {
    const next = wholeOf(engine.flushing());
    counts.push(newElements(last, next));
    last = next;
  } while (engine.isBehind());
  return { counts, last };
}

test('the groups of a policy begin some in each flush, and nothing in force is different by it', () => {
  const engine = flushedEngineOf(pods);
  const before = engine.flush();
  const policy = selecting('many');
  expect(engine.isPrepared(policy)).toBe(false);
  engine.prepare([policy]);
  const { counts, last } = flushAll(engine, before);
  expect(engine.isPrepared(policy)).toBe(true);
  expect(counts.length).toBeGreaterThanOrEqual((SELECTORS * PODS) / MOST_ASKED);
  expect(Math.max(...counts)).toBeLessThanOrEqual(MOST_ASKED + PODS + 2);
  expect(counts.reduce((a, b) => a + b)).toBe(SELECTORS * (PODS + 1));
  const wrong = plan(compiled(pods), last).filter(({ op }) => op !== 'addSet' && op !== 'addElements');
  expect(wrong).toEqual([]);
});

test('a policy that is noted when it is ready makes no elements of its peers any more', () => {
  const engine = flushedEngineOf(pods);
  const policy = selecting('many');
  engine.prepare([policy]);
  engine.flush();
  const before = wholeOf(engine.flushing());
  engine.note(pod(3, 'blue')); // follows meanwhile
  engine.note(policyEvent(policy));
  engine.prepare([]);
  const now = wholeOf(engine.flushing());
  expect(newElements(before, now)).toBeLessThan(2 * SELECTORS);
  expect(engine.isBehind()).toBe(false);
  expect(plan(compiled([...pods, pod(3, 'blue'), policyEvent(policy)]), now)).toEqual([]);
});

test('another version of what is in force keeps what both need, and what is not asked for goes', () => {
  const [first, second] = [selecting('many'), selecting('many', 1)];
  const events = [...pods, policyEvent(first)];
  const engine = flushedEngineOf(events);
  engine.prepare([second]);
  engine.flush();
  engine.prepare([]);
  expect(plan(compiled(events), engine.flush())).toEqual([]);
  const same = selecting('many');
  engine.prepare([same]); // of groups that live already nothing is made
  wholeOf(engine.flushing());
  expect(engine.isPrepared(same)).toBe(true);
});

test('two policies are made ready in turns', () => {
  const engine = flushedEngineOf(pods);
  const before = engine.flush();
  engine.prepare([selecting('one'), selecting('two')]);
  const sets = [...wholeOf(engine.flushing()).tables.get('ip')!.sets.values()];
  const made = sets.filter(({ name }) => !before.tables.get('ip')!.sets.has(name));
  const of = (name: string) => made.filter(({ comment }) => comment?.includes(`${name}-0-`)).length;
  expect(Math.abs(of('one') - of('two'))).toBeLessThanOrEqual(1);
  expect(of('one')).toBeGreaterThan(3);
});

test('of two policies each has its turn, however little a flush has room for', () => {
  const engine = flushedEngineOf(pods, 1);
  const before = engine.flush();
  engine.prepare([selecting('one'), selecting('two')]);
  let last = before;
  for (let flushes = 0; flushes < 4; flushes++) last = wholeOf(engine.flushing());
  const sets = [...last.tables.get('ip')!.sets.values()];
  const of = (name: string) => sets.filter(({ comment }) => comment?.includes(`${name}-0-`)).length;
  expect([of('one'), of('two')]).toEqual([2, 2]);
});

test('policies of many tenants begin in several flushes, whoever is edited meanwhile', () => {
  const engine = flushedEngineOf(pods, 20 * PODS); // room for a group of each
  const names = (kind: string, count: number) => Array.from({ length: count }, (_, n) => `${kind}-${n}`);
  const [edited, others] = [names('edited', 4), names('other', 8)];
  const kept = others.map(name => selecting(name));
  const begun = new Set<string>();
  const most = others.length * 2;
  for (let version = 0; version < most && begun.size < others.length; version++) {
    engine.prepare([...edited.map(name => selecting(name, version)), ...kept]);
    const sets = [...wholeOf(engine.flushing()).tables.get('ip')!.sets.values()];
    for (const name of others)
      if (sets.some(({ comment }) => comment?.includes(`${name}-0-`))) begun.add(name);
    if (version === 0) expect(begun.size).toBeLessThan(others.length);
  }
  expect([...begun].sort()).toEqual(others);
});

test('what has no peers in the cluster, or selects no pod here, needs no preparation', () => {
  const engine = flushedEngineOf(pods);
  expect(engine.isPrepared(ingressPolicy('tenant/deny', []))).toBe(true);
  const nowhere = ingressPolicy('nowhere/many', selecting('many').ingress!);
  engine.prepare([nowhere]);
  const { counts } = flushAll(engine, engine.flush());
  expect([counts, engine.isPrepared(nowhere)]).toEqual([[0], true]);
});
