/** Classes that are prepared before pods join them. */
import { describe, expect, test } from 'vitest';
import { NODE } from '../../../test/support/agent/engine.ts';
import { allowPort, ingressPolicy, tenantPod } from '../../../test/support/agent/tenants.ts';
import { wholeOf } from '../../lib/collections/pieces.ts';
import { ClusterState } from '../../model/cluster.ts';
import type { Rule } from '../../model/policy.ts';
import { makeClass } from '../classes.ts';
import { className } from '../program.ts';
import { LiveClasses } from './classes.ts';
import { LiveGroups } from './groups/groups.ts';
import { LiveTables } from './livetables.ts';
import { PodIndex } from './pods/podindex.ts';

const pod = tenantPod('tenant', 1);
const policies = [ingressPolicy('tenant/web', [allowPort(80)])];

function emptyClasses(): LiveClasses {
  const state = new ClusterState();
  return new LiveClasses(new LiveGroups(state, new PodIndex(state, NODE)), false);
}

/** The names of the chains that the classes add to empty tables. */
function chainsOf(classes: LiveClasses): string[] {
  const tables = new LiveTables();
  classes.flushInto(tables);
  return [...tables.ruleset(undefined).tables.get('ip')!.chains.keys()];
}

/** How many pieces it takes to join the class of these policies, and whether its chain is there then. */
function joining(classes: LiveClasses, now = policies): { pieces: number; chains: string[] } {
  const podClass = makeClass(pod, 'ingress', now);
  const work = classes.join(className(podClass), podClass, pod.key);
  let pieces = 1;
  while (!work.next().done) pieces++;
  return { pieces, chains: chainsOf(classes) };
}

test('a class that was prepared is found made by the first pod that joins it', () => {
  const [fresh, classes] = [joining(emptyClasses()), emptyClasses()];
  wholeOf(classes.prepare(makeClass(pod, 'ingress', policies)));
  expect(chainsOf(classes)).toEqual([]);
  const prepared = joining(classes);
  expect(prepared.chains).toEqual(fresh.chains);
  expect(prepared.pieces).toBeLessThan(fresh.pieces);
});

test('what was prepared for other versions, or is forgotten, is built again', () => {
  const fresh = joining(emptyClasses());
  const [older, forgotten] = [emptyClasses(), emptyClasses()];
  wholeOf(older.prepare(makeClass(pod, 'ingress', [ingressPolicy('tenant/web', [allowPort(81)])])));
  expect(joining(older)).toEqual(fresh);
  const podClass = makeClass(pod, 'ingress', policies);
  wholeOf(forgotten.prepare(podClass));
  forgotten.forget(podClass);
  expect(joining(forgotten)).toEqual(fresh);
});

describe('of a large policy, which is a part', () => {
  const LARGE = 200;
  const large = (version: number) =>
    ingressPolicy(
      'tenant/web',
      Array.from({ length: LARGE }, (_, n): Rule => allowPort(1000 + LARGE * version + n)),
    );
  const classAt = (version: number) => makeClass(pod, 'ingress', [large(version)]);

  test('nothing stays of versions that were prepared and replaced, or forgotten', () => {
    const classes = emptyClasses();
    const first = classAt(0);
    wholeOf(classes.prepare(first));
    const one = classes.madeParts;
    expect(one).toBeGreaterThan(0);
    let last = first;
    for (let version = 1; version < 5; version++) {
      const next = classAt(version);
      wholeOf(classes.prepare(next));
      classes.forget(last);
      expect(classes.madeParts).toBe(one);
      last = next;
    }
    classes.forget(last);
    expect(classes.madeParts).toBe(0);
  });

  test('nothing stays of what was prepared out of bundles, and then in bundles', () => {
    const classes = emptyClasses();
    const policies = Array.from({ length: 50 }, (_, n) =>
      ingressPolicy(`tenant/small${n}`, Array<Rule>(LARGE / 2).fill(allowPort(n))),
    );
    const [few, many] = [policies.slice(0, 1), policies].map(small =>
      makeClass(pod, 'ingress', [large(0), ...small]),
    );
    wholeOf(classes.prepare(few!));
    const one = classes.madeParts;
    wholeOf(classes.prepare(few!, [few!, many!]));
    expect(classes.madeParts).toBeGreaterThan(one);
    for (let uses = 2; uses > 0; uses--) classes.forget(few!);
    expect(classes.madeParts).toBe(0);
  });

  test('nothing stays of a class that is given up before it is built', () => {
    const classes = emptyClasses();
    const pieces = wholeCount(emptyClasses().prepare(classAt(0)));
    for (let made = 0; made < pieces; made++) {
      const work = classes.prepare(classAt(made));
      for (let piece = 0; piece < made; piece++) work.next();
      work.return([]);
      expect(classes.madeParts).toBe(0);
    }
  });

  test('what pods use, or is prepared for others too, stays', () => {
    const classes = emptyClasses();
    const inUse = classAt(0);
    wholeOf(classes.prepare(inUse));
    wholeOf(classes.join(className(inUse), inUse, pod.key));
    classes.forget(inUse);
    expect(classes.madeParts).toBeGreaterThan(0);
    const [policy, small] = [large(1), ingressPolicy('tenant/x', [allowPort(80)])];
    const [one, other] = [[policy], [policy, small]].map(its => makeClass(pod, 'ingress', its));
    for (const podClass of [one!, other!]) wholeOf(classes.prepare(podClass));
    const both = classes.madeParts;
    classes.forget(one!);
    expect(classes.madeParts).toBe(both);
  });
});

function wholeCount(work: Iterator<void, unknown>): number {
  let pieces = 0;
  while (!work.next().done) pieces++;
  return pieces;
}
