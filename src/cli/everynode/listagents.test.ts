import { expect, test } from 'vitest';
import type { Api, Query } from '../../inputs/kube/client/api.ts';
import { listAgents } from './clusteragents.ts';

const pod = (name: string, more: object = {}) => ({
  metadata: { name, namespace: 'sluice', labels: { big: 'x'.repeat(1_000) }, ...more },
  spec: { nodeName: `node-${name}`, containers: [{ name: 'sluice' }, { name: 'other' }] },
  status: {
    phase: 'Running',
    containerStatuses: [{ name: 'other' }, { name: 'sluice', imageID: 'sha256:1' }],
  },
});

/** One page for each list of pods; behind the last comes the first again where they have no end. */
function server(pages: readonly (readonly object[])[], isEndless = false): Api & { readonly asked: Query[] } {
  const asked: Query[] = [];
  return {
    asked,
    get: async (path, query) => {
      expect(path).toBe('/api/v1/namespaces/sluice/pods');
      const page = asked.push(query) - 1;
      const next = isEndless || page + 1 < pages.length ? { continue: 'more' } : {};
      const metadata = { resourceVersion: '1', ...next };
      const items = pages[page % pages.length];
      const list = { kind: 'PodList', apiVersion: 'v1', metadata, items };
      return (async function* () {
        yield Buffer.from(JSON.stringify(list));
      })();
    },
  };
}

const signal = new AbortController().signal;

test('listAgents() reads pods by their label, page by page, and leaves out those that end or run nowhere', async () => {
  const gone = pod('c', { deletionTimestamp: '2026-01-01T00:00:00Z' });
  const api = server([
    [pod('a'), gone],
    [{ ...pod('d'), spec: {} }, pod('b')],
  ]);
  expect(await listAgents(api, 'sluice', signal)).toEqual(
    ['a', 'b'].map(name => ({
      ...{ name, node: `node-${name}`, container: 'sluice', phase: 'Running' },
      image: 'sha256:1',
    })),
  );
  expect(api.asked).toMatchObject([
    { labelSelector: 'app.kubernetes.io/name=sluice', limit: '500' },
    { labelSelector: 'app.kubernetes.io/name=sluice', continue: 'more' },
  ]);
});

test.each([
  ['objects', [pod('a')], { objects: 500, bytes: 1 << 30 }, 'more than 500 objects, if it has an end'],
  ['bytes', [], { objects: 1e9, bytes: 1 << 20 }, 'more than 1 MiB, if it has an end'],
])('listAgents() gives up a list without end: by %s', async (_, page, most, why) => {
  await expect(listAgents(server([page], true), 'sluice', signal, most)).rejects.toThrow(why);
});
