/**
 * How long a new pod can do what a standing default deny forbids. The first process of its container opens one
 * connection after the other to a pod that would answer; the window is from the start of the first attempt to that
 * of the first one that is denied. A pod whose first attempt is denied has none.
 *
 *     scripts/e2e startup [PODS] [AT ONCE]
 */
import { create } from '../specs/support/api.ts';
import { kubectl, nodes, until } from '../specs/support/cluster.ts';
import { endpoint, type Site, site } from '../specs/support/site.ts';
import { percentiles } from './percentiles.ts';

const [pods = 50, atOnce = 1] = process.argv.slice(2).map(Number);
const DENIED = 20;
const IMAGE = 'registry.k8s.io/e2e-test-images/agnhost:2.63.0';

const target = await site('startup-target');
const server = await target.pod('server', { node: 'node1' });
const place = await site('startup');
await place.policy('deny', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] });

const windows: number[] = [];
for (let i = 0; i < pods; i += atOnce) {
  const names = Array.from({ length: Math.min(atOnce, pods - i) }, (_, k) => `pod-${i + k}`);
  windows.push(
    ...(await Promise.all(names.map((name, k) => windowOf(place, name, nodes[(i + k) % nodes.length]!)))),
  );
}
const without = windows.filter(ms => ms === 0).length;
console.log(
  `${pods} pods under a standing default deny, ${atOnce} at once: ${without} were closed from their first packet`,
);
console.log(`  open for, ms:  ${percentiles(windows)}`);
await place.leave();
await target.leave();
process.exit();

/** In milliseconds. */
async function windowOf({ namespace }: Site, name: string, nodeName: string): Promise<number> {
  const to = endpoint(server.address);
  const script = `for ((denied = 0; denied < ${DENIED};)); do
    start=$EPOCHREALTIME
    if /agnhost connect ${to} --timeout=50ms 2>/dev/null; then echo $start open; else echo $start denied; ((++denied)); fi
  done`;
  await create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace },
    spec: {
      nodeName,
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'prober', image: IMAGE, command: ['/bin/bash', '-c', script] }],
    },
  });
  const log = await until(`the prober of ${name} has ended`, async () => {
    const text = await kubectl('-n', namespace, 'logs', name).catch(() => '');
    return text.split('denied').length > DENIED ? text : undefined;
  });
  const lines = log.trim().split('\n');
  const startOf = (line: string) => Number(line.split(' ')[0]) * 1000;
  const firstDenied = lines.find(line => line.endsWith('denied'))!;
  return startOf(firstDenied) - startOf(lines[0]!);
}
