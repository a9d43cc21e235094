import { beforeAll, expect, test } from 'vitest';
import { ask, read } from './support/api.ts';
import { nodes, until } from './support/cluster.ts';
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
  for (const { node, namespace, name } of pods)
    await until(`kubelet has probed ${name} ten times`, async () => {
      const metrics: string = await ask('GET', `/api/v1/nodes/${node}/proxy/metrics/probes`);
      const counts = metrics
        .split('\n')
        .filter(line => line.startsWith('prober_probe_total{') && line.includes(`namespace="${namespace}"`))
        .filter(line => line.includes(`pod="${name}"`) && line.includes('result="successful"'))
        .map(line => Number(line.slice(line.lastIndexOf(' '))));
      return counts.length === 2 && Math.min(...counts) >= 10 ? true : undefined;
    });

  for (const pod of pods) {
    const found = await read(pod);
    expect(found.status.containerStatuses[0].restartCount, pod.name).toBe(0);
    expect(isReady(found), `${pod.name} is ready`).toBe(true);
  }
});
