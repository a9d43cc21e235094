import { beforeAll, expect, test } from 'vitest';
import { read } from './support/api.ts';
import { nodes, sleep } from './support/cluster.ts';
import { endpoint, isReady, PORT, type RunningPod, type Site, settles, site } from './support/site.ts';

let place: Site;
beforeAll(async () => {
  place = await site('probes');
});

test('liveness and readiness probes survive a default deny, on every node', async () => {
  const probe = {
    httpGet: { path: '/', port: PORT },
    periodSeconds: 1,
    failureThreshold: 1,
    timeoutSeconds: 1,
  };
  const container = { livenessProbe: probe, readinessProbe: probe };
  await place.policy('deny', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
  const pods: RunningPod[] = [];
  for (const node of nodes) pods.push(await place.pod(`web-${node}`, { node, container }));

  expect(await settles(pods[0]!, endpoint(pods[1]!.address), 'closed')).toBe('closed');
  await sleep(10_000);

  for (const pod of pods) {
    const found = await read(pod);
    expect(found.status.containerStatuses[0].restartCount, pod.name).toBe(0);
    expect(isReady(found), `${pod.name} is ready`).toBe(true);
  }
});
