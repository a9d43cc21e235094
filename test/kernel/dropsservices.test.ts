/**
 * Denied connections to Services, with real packets and an agent that follows an API server: a line says whom the
 * packet came to and what its sender had dialled, translated on the way or not.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test, vi } from 'vitest';
import { kubeconfigOf } from '../../bench/kubeconfig.ts';
import { inNamespace } from '../../bench/lab/netns.ts';
import type { Probe } from '../../bench/lab/probe/attempt.ts';
import { probe } from '../../bench/lab/probe/probe.ts';
import { address } from '../../bench/lab/topology.ts';
import type { DenialsFacts } from '../../src/api/health/agentchecks.ts';
import type { AgentClient } from '../../src/api/rpc/client.ts';
import type { Denial } from '../../src/observe/denials/denial.ts';
import { connectionText } from '../../src/observe/denials/lines.ts';
import { AgentProcess } from '../support/agent/agentprocess.ts';
import { AgentSite, siteObjects, sitePolicy } from '../support/packets/agentsite.ts';
import { DENIED_PORT, HOSTS, NODE } from '../support/packets/site.ts';

const SERVER = join(import.meta.dirname, '../support/api/serveobjects.ts');
const site = new AgentSite('dropsvc');

/** Of both families. */
const both = (four: string, six: string) => [address(four), address(six)] as const;
const OWN = both('172.18.0.11', 'fd00:18::11');
const CLUSTER = both('10.96.0.80', 'fd96::80');
const EXTERNAL = both('203.0.113.80', '2001:db8::80');
const EMPTY = both('10.96.0.99', 'fd96::99');
const NODE_PORT = 30_080;
const PORT = 80;
const PROTOCOLS = ['TCP', 'UDP', 'SCTP'] as const;

const service = (name: string, clusterIPs: readonly string[], spec: object) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'probe' },
  spec: { clusterIP: clusterIPs[0], clusterIPs, ...spec },
});
const ports = PROTOCOLS.map(protocol => ({
  name: protocol.toLowerCase(),
  protocol,
  port: PORT,
  targetPort: DENIED_PORT,
  nodePort: NODE_PORT,
}));
const OBJECTS = [
  ...siteObjects().filter(object => (object as { kind: string }).kind !== 'Node'),
  {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: NODE },
    status: { addresses: OWN.map(own => ({ type: 'InternalIP', address: own })) },
  },
  service('web', CLUSTER, { type: 'NodePort', externalIPs: EXTERNAL, ports }),
  service('empty', EMPTY, { type: 'ClusterIP', ports: [{ port: PORT }] }),
  sitePolicy('firm', { policyTypes: ['Ingress'] }),
  sitePolicy('walled', { podSelector: { matchLabels: { name: 'y' } }, policyTypes: ['Egress'] }),
];

/** As kube-proxy has it: what has no endpoint is left as it is. */
function translated(): string {
  const chain = (family: 'ip' | 'ip6', at: 0 | 1) => {
    const to = family === 'ip' ? `${HOSTS.t[0]}:${DENIED_PORT}` : `[${HOSTS.t[1]}]:${DENIED_PORT}`;
    const dials = [CLUSTER, EXTERNAL].map(addresses => [addresses[at], PORT]).concat([[OWN[at], NODE_PORT]]);
    const rules = dials.map(
      ([dialled, port]) =>
        `${family} daddr ${dialled} meta l4proto { tcp, udp, sctp } th dport ${port} dnat to ${to}`,
    );
    return `table ${family} proxy { chain pre { type nat hook prerouting priority dstnat;\n${rules.join('\n')}\n}\n}`;
  };
  return `${chain('ip', 0)}\n${chain('ip6', 1)}\n`;
}

let kubeconfig: string;

beforeAll(async () => {
  const node = site.lab.nodeNamespace(NODE);
  inNamespace(node, () => execFileSync('nft', ['-f', '-'], { input: translated() }));
  kubeconfig = join(site.folder, 'kubeconfig');
  writeFileSync(join(site.folder, 'objects.json'), JSON.stringify(OBJECTS));
});

test('a denied connection has the name of the Service that was dialled, and the pod that it came to', async () => {
  const node = site.lab.nodeNamespace(NODE);
  const server = inNamespace(node, () =>
    spawn(process.execPath, [SERVER, join(site.folder, 'objects.json')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  site.closeAfter(() => server.kill('SIGKILL'));
  const [url] = await once(server.stdout.setEncoding('utf8'), 'data');
  writeFileSync(kubeconfig, kubeconfigOf(url.trim()));
  const words = ['--kubeconfig', kubeconfig, '--socket', site.socket, '--denials', '1000'];
  const agent = new AgentProcess(node, NODE, words);
  site.closeAfter(() => agent.kill());
  await agent.inForce();
  const client = await site.client();
  const known = await vi.waitFor(
    async () => {
      const { services } = (await recorded(client)).facts;
      expect(services?.known).toBe(2);
      return services!;
    },
    { timeout: 30_000, interval: 100 },
  );
  // Kernels without CONFIG_NETFILTER_NETLINK_GLUE_CT do not, and the agent says so (docs/kernels.md).
  const isTold = known.problem === undefined;
  console.log(`this kernel ${isTold ? 'says' : 'does not say'} what was dialled where it was translated`);
  if (!isTold) expect(known.problem).toMatch(/^this kernel does not say what was dialled/);

  const tried = ([0, 1] as const).flatMap(family => flowsOf(family, isTold));
  const flows = tried.map(({ flow }) => flow);
  expect(new Set(await probe(site.lab, flows, { quietMs: 200 }))).toEqual(new Set(['closed']));
  await vi.waitFor(
    async () => {
      const { denials } = await recorded(client);
      expect(denials.map(lineOf).sort()).toEqual(tried.map(({ line }) => line).sort());
    },
    { timeout: 30_000, interval: 100 },
  );
});

async function recorded(client: AgentClient): Promise<{ facts: DenialsFacts; denials: Denial[] }> {
  const denials: Denial[] = [];
  let known: DenialsFacts | undefined;
  for await (const { facts, denial } of client.drops(false)) {
    known ??= facts;
    if (denial !== undefined) denials.push(denial);
  }
  return { facts: known!, denials };
}

interface Tried {
  readonly flow: Probe;
  readonly line: string;
}

function flowsOf(family: 0 | 1, isTold: boolean): Tried[] {
  const [x, y, t] = [HOSTS.x[family], HOSTS.y[family], HOSTS.t[family]];
  const firm = 'ingress NetworkPolicy probe/firm';
  const dial = (protocol: (typeof PROTOCOLS)[number], to: string, port: number): Tried => ({
    flow: { from: x, to: t, protocol, port: DENIED_PORT, via: { address: address(to), port } },
    line: `probe/x -> probe/t:${DENIED_PORT}/${protocol}${isTold ? ` through probe/web:${port} ${to}` : ''} ${firm}`,
  });
  const empty = EMPTY[family];
  return [
    ...PROTOCOLS.flatMap(protocol => [
      dial(protocol, CLUSTER[family], PORT),
      dial(protocol, EXTERNAL[family], PORT),
      dial(protocol, OWN[family], NODE_PORT),
    ]),
    {
      flow: { from: x, to: t, protocol: 'TCP', port: DENIED_PORT },
      line: `probe/x -> probe/t:${DENIED_PORT}/TCP ${firm}`,
    },
    {
      flow: { from: y, to: t, protocol: 'TCP', port: DENIED_PORT, via: { address: empty, port: PORT } },
      line: `probe/y -> ${family === 0 ? empty : `[${empty}]`}:${PORT}/TCP through probe/empty ${empty} egress NetworkPolicy probe/walled`,
    },
  ];
}

function lineOf(denial: Denial): string {
  const { service, cause } = denial;
  const dialled = service === undefined ? [] : [service.address];
  return [connectionText(denial), ...dialled, cause.direction, cause.policy].join(' ');
}
