import { beforeAll, expect, test } from 'vitest';
import { ask, call } from './support/api.ts';
import { until } from './support/cluster.ts';
import { Prober, wrong } from './support/prober.ts';
import { endpoint, PORT, type RunningPod, type Site, settles, site } from './support/site.ts';

let clients: Site;
let client: RunningPod;
beforeAll(async () => {
  clients = await site('namespace-clients');
  client = await clients.pod('client', { node: 'node2' });
});

test('a namespace that is deleted with live pods denies until the last of them is gone', async () => {
  const doomed = await site('namespace-doomed');
  // It goes on serving while it is told to end.
  const spec = { terminationGracePeriodSeconds: 5 };
  const container = { lifecycle: { preStop: { sleep: { seconds: 4 } } } };
  const victim = await doomed.pod('victim', { node: 'node1', spec, container });
  const open = await doomed.pod('open', { node: 'node1', spec, container });
  await doomed.policy('deny', { podSelector: { matchLabels: { name: 'victim' } }, policyTypes: ['Ingress'] });
  expect(await settles(client, endpoint(victim.address), 'closed')).toBe('closed');

  const flows = [victim, open].map(({ address }) => ({ address, port: PORT }));
  const prober = await Prober.start(client, { flows, intervalMs: 5, limitMs: 500 });
  try {
    const path = `/api/v1/namespaces/${doomed.namespace}`;
    await ask('DELETE', path);
    const deletedMs = Date.now();
    await until('the namespace is gone', async () =>
      (await call('GET', path)).status === 404 ? true : undefined,
    );
    const attempts = await prober.stop();
    expect(wrong(attempts, 0, 'closed')).toEqual([]);
    // Or the pods were gone at once, and nothing was tried.
    const alive = attempts.filter(
      ({ flow, startMs, open }) => flow === 1 && open && startMs > deletedMs + 2000,
    );
    expect(alive.length, 'connections to the pod beside it, two seconds later').toBeGreaterThan(10);
  } finally {
    prober.kill();
  }
});
