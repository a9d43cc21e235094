import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, type KubeObject, read } from './support/api.ts';
import { cni, kubectl, reboot, until, within } from './support/cluster.ts';
import { eagerPod, firstAttempts } from './support/eager.ts';
import { type Attempt, Prober } from './support/prober.ts';
import {
  agents,
  connection,
  endpoint,
  isReady,
  type RunningPod,
  running,
  type Site,
  settles,
  site,
} from './support/site.ts';

/** Where `db` serves, and nobody else: who answers there is `db`, whatever its address is. */
const DB_PORT = 8081;
let place: Site;
let web: RunningPod;
let stranger: RunningPod;
let db: RunningPod;
let other: RunningPod;
/** May not send anything, and try it from their first moment on. */
let eager: KubeObject[];

beforeAll(async () => {
  place = await site('reboot');
  web = await place.pod('web', { node: 'node2' });
  stranger = await place.pod('stranger', { node: 'node2' });
  other = await place.pod('other', { node: 'node1' });
  db = await place.pod('db', { node: 'node1', port: DB_PORT });
  await place.policy('db', {
    podSelector: { matchLabels: { name: 'db' } },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ from: [{ podSelector: { matchLabels: { name: 'web' } } }] }],
  });
  await place.policy('eager', { podSelector: { matchLabels: { eager: 'yes' } }, policyTypes: ['Egress'] });
  expect(await settles(stranger, endpoint(db.address, DB_PORT), 'closed')).toBe('closed');
  const to = endpoint(web.address);
  const start = (name: string) => eagerPod({ namespace: place.namespace, name, node: 'node1', to });
  eager = await Promise.all(['eager-a', 'eager-b', 'eager-c'].map(start));
});
afterAll(async () => {
  await requireSluice(false);
  await agentHasImage(true);
});

/** How containerd is told to create no container while our plugin is not there (docs/start-gate.md). */
const REQUIRED = `version = 3
[plugins.'io.containerd.nri.v1.nri'.default_validator]
enable = true
required_plugins = ['sluice']
tolerate_missing_plugins_annotation = 'tolerate-missing-plugins.noderesource.dev'
`;

async function requireSluice(required: boolean): Promise<void> {
  const file = '/etc/containerd/conf.d/required.toml';
  const write = `mkdir -p /etc/containerd/conf.d && printf %s "$1" >${file}`;
  const remove = `rm ${file} 2>/dev/null || exit 0; pkill -x containerd; until ctr version; do sleep 0.1; done`;
  await within('node1', 'sh', '-c', required ? write : remove, 'sh', REQUIRED);
}

/** The first addresses of the pod networks of node1: host-local begins there again, its notes are in /run. */
function addressesOfNode1(): string[] {
  const numbers = Array.from({ length: 12 }, (_, i) => i + 2);
  return db.addresses.flatMap(address => {
    const network = address.replace(/[0-9a-f]+$/, '');
    return numbers.map(n => `${network}${n.toString(address.includes(':') ? 16 : 10)}`);
  });
}

const containerOf = async (pod: KubeObject): Promise<string> =>
  (await read(pod)).status.containerStatuses[0].containerID;

/** When node1 and all that ran there is back: the agent is ready, and the pods run. Milliseconds since 1970. */
async function rebooted(atBoot: () => Promise<void> = async () => {}): Promise<{ agentMs: number }> {
  const pods = [db, other, ...eager];
  const agent = (await agents()).get('node1')!;
  const before = await Promise.all(pods.map(containerOf));
  await reboot('node1');
  await atBoot();
  const agentReady = async () => {
    const now = (await agents()).get('node1');
    return now?.ready && (now.name !== agent.name || now.restarts > agent.restarts) ? true : undefined;
  };
  await until('the agent of node1 is ready again', agentReady, 120_000);
  const agentMs = Date.now();
  for (const [i, pod] of pods.entries()) {
    const again = async () => {
      const found = await read(pod);
      return isReady(found) && found.status.containerStatuses[0].containerID !== before[i] ? true : undefined;
    };
    await until(`${pod.metadata.name} runs again`, again, 120_000);
  }
  [db, other] = [await running(db), await running(other)];
  return { agentMs };
}

/** An agent that cannot start, as its image is not to be had: from what is left of it, it is back in no time. */
async function agentHasImage(has: boolean): Promise<void> {
  const [image, hidden] = ['docker.io/library/sluice:0.1.0', 'docker.io/library/sluice:hidden'];
  const [from, to] = has ? [hidden, image] : [image, hidden];
  const move = `ctr -n k8s.io images tag --force ${from} ${to} && ctr -n k8s.io images rm ${from}`;
  await within('node1', 'sh', '-c', `ctr -n k8s.io images ls -q | grep -qx ${from} || exit 0; ${move}`);
}

/** Its pod would wait for longer and longer until it looks for the image again: a new one looks at once. */
async function agentStartsAtLast(): Promise<void> {
  await agentHasImage(true);
  await kubectl('-n', 'sluice', 'delete', 'pod', (await agents()).get('node1')!.name);
}

/** What got through from the stranger to `db` while it went down, came back and was there again. */
async function throughout(action: () => Promise<void>): Promise<Attempt[]> {
  const flows = addressesOfNode1().map(address => ({ address, port: DB_PORT }));
  const prober = await Prober.start(stranger, { flows, intervalMs: 50, limitMs: 950 });
  try {
    await action();
    const attempts = await prober.stop();
    expect(attempts.length).toBeGreaterThan(1000);
    return attempts.filter(({ open }) => open);
  } finally {
    prober.kill();
  }
}

async function policyHolds(): Promise<void> {
  expect(await settles(web, endpoint(db.address, DB_PORT), 'open')).toBe('open');
  expect(await connection(stranger, endpoint(db.address, DB_PORT))).toBe('closed');
  expect(await settles(stranger, endpoint(other.address), 'open')).toBe('open');
  expect(await connection(other, endpoint(web.address))).toBe('open');
  expect(await connection(db, endpoint(web.address))).toBe('closed');
}

test('a node that reboots: its pods come back, whatever their addresses, and policy with them', async () => {
  let readyMs = 0;
  const open = await throughout(async () => {
    readyMs = (await rebooted()).agentMs;
    await policyHolds();
  });
  expect(open.filter(({ startMs }) => startMs >= readyMs)).toEqual([]);
});

test('where the runtime requires Sluice, no pod starts at boot before its rules: not one wrong verdict', async () => {
  await requireSluice(true);
  await agentHasImage(false);
  const before = await Promise.all(eager.map(refusals));
  const open = await throughout(async () => {
    await rebooted(async () => {
      for (const [i, pod] of eager.entries())
        await until(`${pod.metadata.name} waits for Sluice`, () => waitsForSluice(pod, before[i]!), 120_000);
      await agentStartsAtLast();
    });
    await policyHolds();
  });
  expect(open).toEqual([]);
  for (const pod of eager) {
    expect(
      (await firstAttempts(pod)).filter(attempt => attempt.open),
      pod.metadata.name,
    ).toEqual([]);
  }
});

/** Where Sluice is the pod network it has no sandbox either, and kubelet has said so again. */
async function waitsForSluice(pod: KubeObject, before: number): Promise<true | undefined> {
  if (cni === 'sluice') return (await refusals(pod)) > before ? true : undefined;
  // Without Flannel's own pod no other has a network, and it waits likewise.
  const { status } = cni === 'flannel' ? await flannelOfNode1() : await read(pod);
  const { reason, message } = status.containerStatuses[0].state.waiting ?? {};
  return reason === 'CreateContainerError' && message.includes('sluice') ? true : undefined;
}

async function flannelOfNode1(): Promise<KubeObject> {
  const path = '/api/v1/namespaces/kube-flannel/pods?fieldSelector=spec.nodeName=node1';
  const { items } = await ask('GET', path);
  return items[0];
}

/** How often kubelet said that a pod gets no network from Sluice. */
async function refusals({ metadata: { name, namespace } }: KubeObject): Promise<number> {
  const which = `involvedObject.name=${name},reason=FailedCreatePodSandBox`;
  const { items } = await ask('GET', `/api/v1/namespaces/${namespace}/events?fieldSelector=${which}`);
  const ours = items.filter(({ message }: { message: string }) =>
    message.includes('no Sluice agent answers'),
  );
  return ours.reduce((sum: number, { count }: { count?: number }) => sum + (count ?? 1), 0);
}
