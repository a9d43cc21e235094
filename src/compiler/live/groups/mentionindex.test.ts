import fc from 'fast-check';
import { expect, test } from 'vitest';
import { tenantPod } from '../../../../test/support/agent/tenants.ts';
import { runs } from '../../../../test/support/seed.ts';
import { type Labels, type PodSelector, type Requirement, selectsPod } from '../../../model/selector.ts';
import { type LabelledPod, MentionIndex } from './mentionindex.ts';

const KEYS = ['app', 'tier', 'constructor'];
const VALUES = ['a', 'b', 'c'];

const labels: fc.Arbitrary<Labels> = fc.dictionary(fc.constantFrom(...KEYS), fc.constantFrom(...VALUES));

const requirements: fc.Arbitrary<Requirement[]> = fc.array(
  fc.oneof(
    fc.record({
      key: fc.constantFrom(...KEYS),
      operator: fc.constantFrom('In' as const, 'NotIn' as const),
      values: fc.array(fc.constantFrom(...VALUES), { minLength: 1, maxLength: 2 }),
    }),
    fc.record({
      key: fc.constantFrom(...KEYS),
      operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const),
      values: fc.constant([]),
    }),
  ),
  { maxLength: 3 },
);

const selector: fc.Arbitrary<PodSelector> = fc.record({
  namespaces: fc.oneof(
    fc.record({ kind: fc.constant('name' as const), name: fc.constantFrom('shop', 'other') }),
    fc.record({ kind: fc.constant('labels' as const), selector: fc.record({ requirements }) }),
  ),
  pods: fc.record({ requirements }),
});

const labelled: fc.Arbitrary<LabelledPod> = fc.record({
  pod: labels.map(its => tenantPod('shop', 1, { labels: its })),
  namespace: labels.map(its => ({ name: 'shop', labels: its })),
});

test('touchedBy() answers every selector that selects the pod before or after, and not both', () => {
  let touched = 0;
  fc.assert(
    fc.property(fc.array(selector, { maxLength: 12 }), labelled, labelled, (selectors, before, now) => {
      const index = new MentionIndex<PodSelector>();
      for (const one of selectors) index.add(one, one);
      const found = index.touchedBy(before, now)!;
      const selects = (one: PodSelector, { pod, namespace }: LabelledPod) => selectsPod(one, pod, namespace);
      const changed = selectors.filter(one => selects(one, before) !== selects(one, now));
      touched += changed.length;
      for (const one of changed) expect(found).toContain(one);
      for (const one of selectors) index.delete(one, one);
      expect(index.touchedBy(before, now)).toEqual(new Set());
      for (const one of selectors) index.add(one, one);
      expect(index.touchedBy(before, now)).toEqual(found);
    }),
    { numRuns: runs(500) },
  );
  expect(touched).toBeGreaterThan(runs(300));
});

test('touchedBy() leaves alone what mentions other labels, other values, or pods of another namespace', () => {
  const index = new MentionIndex<PodSelector>();
  const selectorOf = (name: string, key: string, value: string): PodSelector => ({
    namespaces: { kind: 'name', name },
    pods: { requirements: [{ key, operator: 'NotIn', values: [value] }] },
  });
  const selectors = [
    selectorOf('shop', 'app', 'a'),
    selectorOf('shop', 'app', 'c'),
    selectorOf('shop', 'tier', 'a'),
    selectorOf('other', 'app', 'a'),
  ];
  for (const one of selectors) index.add(one, one);
  const at = (app: string) => ({
    pod: tenantPod('shop', 1, { labels: { app, tier: 'a' } }),
    namespace: { name: 'shop', labels: {} },
  });
  expect([...index.touchedBy(at('a'), at('b'))!]).toEqual([selectors[0]]);
});

test('touchedBy() tells relabellings of one namespace apart', () => {
  const index = new MentionIndex<PodSelector>();
  const selectorOf = (team: string): PodSelector => ({
    namespaces: {
      kind: 'labels',
      selector: { requirements: [{ key: 'team', operator: 'In', values: [team] }] },
    },
    pods: { requirements: [] },
  });
  const [red, blue, green] = [selectorOf('red'), selectorOf('blue'), selectorOf('green')];
  for (const one of [red, blue, green]) index.add(one, one);
  const pod = tenantPod('shop', 1);
  const around = (team: string) => ({ pod, namespace: { name: 'shop', labels: { team } } });
  const [inRed, inBlue, inGreen] = [around('red'), around('blue'), around('green')];
  expect(index.touchedBy(inRed, inBlue)).toEqual(new Set([red, blue]));
  expect(index.touchedBy(inRed, inGreen)).toEqual(new Set([red, green]));
  expect(index.touchedBy(inBlue, inGreen)).toEqual(new Set([blue, green]));
});

test('touchedBy() does not know where not all labels are known', () => {
  const known = { pod: tenantPod('shop', 1), namespace: { name: 'shop', labels: {} } };
  const unknown = { ...known, namespace: { ...known.namespace, partial: true as const } };
  const index = new MentionIndex<object>();
  expect([index.touchedBy(known, unknown), index.touchedBy(unknown, known)]).toEqual([undefined, undefined]);
});
