/** Classes that are made before their pods come. */
import { expect, test } from 'vitest';
import { NODE } from '../../../test/support/agent/engine.ts';
import { allowPort, ingressPolicy, tenantPod } from '../../../test/support/agent/tenants.ts';
import { ClusterState } from '../../model/cluster.ts';
import { wholeOf } from '../../model/pieces.ts';
import { makeClass } from '../classes.ts';
import { className } from '../program.ts';
import { LiveClasses } from './classes.ts';
import { LiveGroups } from './groups.ts';
import { PodIndex } from './podindex.ts';

const pod = tenantPod('tenant', 1);
const policies = [ingressPolicy('tenant/web', [allowPort(80)])];

function emptyClasses(): LiveClasses {
  const state = new ClusterState();
  return new LiveClasses(new LiveGroups(state, new PodIndex(state, NODE)), false);
}

/** How many pieces it takes to join the class of these policies, and whether its chain is there then. */
function joining(classes: LiveClasses, now = policies): { pieces: number; chains: string[] } {
  const podClass = makeClass(pod, 'ingress', now);
  const work = classes.join(className(podClass), podClass, pod.key);
  let pieces = 1;
  while (!work.next().done) pieces++;
  return { pieces, chains: [...classes.chains('ip')].map(({ name }) => name) };
}

test('a class that was prepared is found made by the first pod that joins it', () => {
  const [fresh, classes] = [joining(emptyClasses()), emptyClasses()];
  wholeOf(classes.prepare(makeClass(pod, 'ingress', policies)));
  expect([...classes.chains('ip')]).toEqual([]);
  const prepared = joining(classes);
  expect(prepared.chains).toEqual(fresh.chains);
  expect(prepared.pieces).toBeLessThan(fresh.pieces);
});

test('what was prepared of other versions, or is forgotten, is made anew', () => {
  const fresh = joining(emptyClasses());
  const [older, forgotten] = [emptyClasses(), emptyClasses()];
  wholeOf(older.prepare(makeClass(pod, 'ingress', [ingressPolicy('tenant/web', [allowPort(81)])])));
  expect(joining(older)).toEqual(fresh);
  const podClass = makeClass(pod, 'ingress', policies);
  wholeOf(forgotten.prepare(podClass));
  forgotten.forget(podClass);
  expect(joining(forgotten)).toEqual(fresh);
});
