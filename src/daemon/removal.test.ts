import { expect, test } from 'vitest';
import { compile } from '../compiler/compile.ts';
import { allowingUnknownPods, unknownPodsIn } from '../compiler/unknownpods.ts';
import { ApiError } from '../inputs/kube/client/api.ts';
import type { Address } from '../model/address.ts';
import { ClusterState } from '../model/cluster.ts';
import type { Mac } from '../model/mac.ts';
import { isRemoved } from './removal.ts';

const STANDS = { metadata: { name: 'sluice' } };
const GOING = { metadata: { name: 'sluice', deletionTimestamp: '2026-01-01T00:00:00Z' } };

interface Answers {
  readonly daemonSet: object | ApiError;
  readonly namespace?: object;
  readonly wasRead?: boolean;
}

function asked({ daemonSet, namespace = STANDS, wasRead = true }: Answers): Promise<boolean> {
  const answers = new Map<string, object | ApiError>([
    ['/apis/apps/v1/namespaces/platform/daemonsets/sluice {}', daemonSet],
    ['/api/v1/namespaces {"fieldSelector":"metadata.name=platform"}', { items: [namespace] }],
  ]);
  const get = async (path: string, query: object) => {
    const answer = answers.get(`${path} ${JSON.stringify(query)}`)!;
    if (answer instanceof ApiError) throw answer;
    return (async function* () {
      yield Buffer.from(JSON.stringify(answer));
    })();
  };
  return isRemoved({ get }, { namespace: 'platform', wasRead }, AbortSignal.timeout(1000));
}

test.each([
  ['the DaemonSet stands', { daemonSet: STANDS }, false],
  ['the DaemonSet is being deleted', { daemonSet: GOING }, true],
  [
    'the DaemonSet is gone',
    { daemonSet: new ApiError(404, 'not found', { sentence: 'daemonsets.apps "sluice" not found' }) },
    true,
  ],
  ['the namespace goes, and the DaemonSet not yet', { daemonSet: STANDS, namespace: GOING }, true],
  [
    'nobody may be asked, for the ServiceAccount is gone',
    { daemonSet: new ApiError(401, 'no', { sentence: 'Unauthorized' }) },
    true,
  ],
])('isRemoved() where %s', async (_, answers, removed) => {
  expect(await asked(answers)).toBe(removed);
});

test.each([403, 500, 'unreachable', 'cut'] as const)('isRemoved() guesses nothing from %s', async code => {
  await expect(asked({ daemonSet: new ApiError(code, 'no') })).rejects.toThrow('no');
});

test.each([404, 401])(
  'isRemoved() guesses nothing from a %i of whoever stands before the server',
  async code => {
    await expect(asked({ daemonSet: new ApiError(code, 'no') })).rejects.toThrow('no');
  },
);

test('isRemoved() takes no word of a server that has not known the agent for long for its removal', async () => {
  const refusal = new ApiError(401, 'no', { sentence: 'Unauthorized' });
  await expect(asked({ daemonSet: refusal, wasRead: false })).rejects.toThrow('no');
  const gone = new ApiError(404, 'not found', { sentence: 'daemonsets.apps "sluice" not found' });
  expect(await asked({ daemonSet: gone, wasRead: false })).toBe(true);
});

test('allowingUnknownPods() leaves the chains of a node that allowed them always, and every element', () => {
  const state = new ClusterState();
  const podCidrs = ['10.244.1.0/24', 'fd00:244:0:1::/64'];
  const podPorts = [{ index: 5, mac: '0a:58:0a:f4:01:05' as Mac, addresses: ['10.244.1.5' as Address] }];
  const links = { uplinks: [2], podBridges: [3], podPorts };
  const node = { name: 'n1', labels: {}, addresses: [], podCidrs, links };
  state.apply({ type: 'node', key: 'n1', value: node });
  const denying = compile(state, 'n1', 'deny');
  expect(unknownPodsIn(denying)).toBe('deny');
  const opened = allowingUnknownPods(denying);
  expect(unknownPodsIn(opened)).toBe('allow');
  const allowing = compile(state, 'n1', 'allow');
  expect([...opened.tables.keys()]).toContain('bridge');
  for (const [family, table] of opened.tables) {
    expect(table.chains).toEqual(allowing.tables.get(family)!.chains);
    expect(table.sets).toEqual(denying.tables.get(family)!.sets);
  }
});
