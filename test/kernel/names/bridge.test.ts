/**
 * Pods and their resolver on one bridge, where no rule of IP can tell them apart: the table of bridges does, port by
 * port (decision 21), and so nobody answers in the resolver's name.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { AgentProcess } from '../../support/agent/agentprocess.ts';
import { ASKED_NAME, forgedAnswer } from '../../support/names/forgedanswer.ts';
import { type ClientOrders, type ClientReport, SLOW } from '../../support/names/ground.ts';
import { rawSend } from '../../support/names/rawsend.ts';
import { until } from '../../support/until.ts';
import { ADDRESSES, Ground, type Host } from '../hostile/ground.ts';

const RESOLVER = ADDRESSES.friend;
const pod = (name: 'attacker' | 'victim' | 'friend') => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, namespace: shop, labels: { app: ${name} } }
spec: { nodeName: n1, containers: [{ name: c, image: c }] }
status: { phase: Running, podIP: ${ADDRESSES[name].ip}, podIPs: [{ ip: ${ADDRESSES[name].ip} }, { ip: '${ADDRESSES[name].ip6}' }] }
---`;
const MANIFESTS = `${(['attacker', 'victim', 'friend'] as const).map(pod).join('')}
apiVersion: v1
kind: Namespace
metadata: { name: shop, labels: { kubernetes.io/metadata.name: shop } }
---
apiVersion: v1
kind: Node
metadata: { name: n1 }
spec: { podCIDR: 10.9.0.0/24, podCIDRs: [10.9.0.0/24, 'fd09::/64'] }
status: { addresses: [{ type: InternalIP, address: ${ADDRESSES.node.ip} }] }
---
apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: { name: logs }
spec:
  tier: Admin
  priority: 10
  subject: { pods: { namespaceSelector: {}, podSelector: { matchLabels: { app: victim } } } }
  egress:
  - { name: dns, action: Accept, to: [{ pods: { namespaceSelector: {}, podSelector: { matchLabels: { app: friend } } } }] }
  - { name: by-name, action: Accept, to: [{ domainNames: ['*.t.example'] }] }
  - { name: nowhere, action: Deny, to: [{ networks: [0.0.0.0/0, '::/0'] }] }
`;

let ground: Ground;
let agent: AgentProcess;
const folder = mkdtempSync(join(tmpdir(), 'sluice-names-bridge-'));
const children: ChildProcess[] = [];

beforeAll(async () => {
  ground = await Ground.build({ network: 'bridge' });
  ground.exec('outside', 'ip', ['route', 'add', 'local', '10.98.0.0/16', 'dev', 'lo']);
  for (const [host, program] of [
    ['friend', 'resolver.ts'],
    ['outside', 'web.ts'],
  ] as const)
    await once(run(host, program).stdout!, 'data');
  const file = join(folder, 'manifests.yaml');
  writeFileSync(file, MANIFESTS);
  agent = new AgentProcess(ground.path('node'), 'n1', ['--manifests', file, '--dns-servers', RESOLVER.ip]);
  await agent.inForce();
  const said = () => agent.output;
  await until(said, () => nft('list', 'table', 'bridge', 'sluice').includes(ground.mac('victim')));
  await until(said, () => nft('list', 'set', 'ip', 'sluice', 'names-alive').includes('elements'));
}, 180_000 * SLOW);

afterAll(async () => {
  await agent?.kill();
  for (const child of children) child.kill('SIGKILL');
  ground?.remove();
  rmSync(folder, { recursive: true });
});

function run(host: Host, program: string, ...words: string[]): ChildProcess {
  const file = fileURLToPath(new URL(`../../support/names/${program}`, import.meta.url));
  const child = inNamespace(ground.path(host), () =>
    spawn(process.execPath, [file, ...words], { stdio: ['ignore', 'pipe', 'inherit'] }),
  );
  children.push(child);
  return child;
}

/** Empty where there is no such thing. */
function nft(...words: string[]): string {
  try {
    return inNamespace(ground.path('node'), () =>
      execFileSync('nft', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    );
  } catch {
    return '';
  }
}

async function visit(names: readonly string[], port = 0): Promise<ClientReport> {
  const times = { attempts: 1, patienceMs: 700 * SLOW, answerMs: 5_000 * SLOW, rounds: 1, pauseMs: 0 };
  const orders: ClientOrders = { resolver: RESOLVER.ip, names, type: 'A', byTcp: false, port, ...times };
  const child = run('victim', 'client.ts', JSON.stringify(orders));
  let output = '';
  child.stdout!.on('data', data => (output += data));
  await once(child, 'close');
  return JSON.parse(output) as ClientReport;
}

const isLearnt = (peer: string) => nft('list', 'ruleset').includes(`${ADDRESSES.victim.ip} . ${peer} `);

function forge(from: Host, port: number, address: string): void {
  // To a neighbour directly; to itself by the node.
  const gatewayMac = from === 'victim' ? ground.mac('node', 'cni0') : ground.mac('victim');
  const way = { namespace: ground.path(from), gatewayMac };
  rawSend(way, RESOLVER.ip, ADDRESSES.victim.ip, port, forgedAnswer(address));
}

test('a resolver on the bridge of its pods is heard', async () => {
  const names = Array.from({ length: 30 }, (_, i) => `n${1 + i}.t.example`);
  expect(await visit(names)).toMatchObject({ failed: [], lost: 0, unanswered: 0 });
});

test.each([
  ['another pod of the bridge', 'attacker', 4_501, '10.98.79.1'],
  ['the pod itself', 'victim', 4_502, '10.98.79.2'],
] as const)('C54: %s, in the resolver’s name, has nothing learnt', async (_, from, port, address) => {
  await visit([ASKED_NAME], port);
  forge(from, port, address);
  // What comes behind it is learnt.
  await until('the agent is told', async () => (await visit([`n${port}.t.example`])).connected.length > 0);
  expect(isLearnt(address)).toBe(false);
});

test('the same by the resolver’s own port is learnt', async () => {
  await visit([ASKED_NAME], 4_503);
  forge('friend', 4_503, '10.98.79.3');
  await until('it is learnt', () => isLearnt('10.98.79.3'));
});
