import { expect, test } from 'vitest';
import { compile } from '../compiler/compile.ts';
import { allowingUnknownPods, unknownPodsIn } from '../compiler/unknownpods.ts';
import { ApiError } from '../kube/client/apierror.ts';
import { ClusterState } from '../model/cluster.ts';
import { isRemoved } from './removal.ts';

const PATH = '/apis/apps/v1/namespaces/platform/daemonsets/sluice';

function asked(answer: object | ApiError): Promise<boolean> {
  const get = async (path: string) => {
    expect(path).toBe(PATH);
    if (answer instanceof ApiError) throw answer;
    return (async function* () {
      yield Buffer.from(JSON.stringify(answer));
    })();
  };
  return isRemoved({ get }, 'platform', AbortSignal.timeout(1000));
}

test.each([
  ['stands', { metadata: { name: 'sluice' } }, false],
  ['is being deleted', { metadata: { name: 'sluice', deletionTimestamp: '2026-01-01T00:00:00Z' } }, true],
  ['is gone', new ApiError(404, 'not found'), true],
  ['cannot be asked about, for the ServiceAccount is gone', new ApiError(401, 'unauthorized'), true],
])('isRemoved() where the DaemonSet %s', async (_, answer, removed) => {
  expect(await asked(answer)).toBe(removed);
});

test.each([403, 500, 'unreachable', 'cut'] as const)('isRemoved() guesses nothing from %s', async code => {
  await expect(asked(new ApiError(code, 'no'))).rejects.toThrow('no');
});

test('allowingUnknownPods() leaves the chains of a node that allowed them always, and every element', () => {
  const state = new ClusterState();
  const node = { name: 'n1', labels: {}, addresses: [], podCidrs: ['10.244.1.0/24', 'fd00:244:0:1::/64'] };
  state.apply({ type: 'node', key: 'n1', value: node });
  const denying = compile(state, 'n1', 'deny');
  expect(unknownPodsIn(denying)).toBe('deny');
  const opened = allowingUnknownPods(denying);
  expect(unknownPodsIn(opened)).toBe('allow');
  const allowing = compile(state, 'n1', 'allow');
  for (const [family, table] of opened.tables) {
    expect(table.chains).toEqual(allowing.tables.get(family)!.chains);
    expect(table.sets).toEqual(denying.tables.get(family)!.sets);
  }
});
