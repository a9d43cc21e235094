/**
 * A node with an agent and three pods, one of which no other may reach: the site for denials and for the clients that
 * follow them.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentClient } from '../src/api/rpc/client.ts';
import { builtFolder } from './build.ts';
import { connectedAgent } from './connectedagent.ts';
import { buildLab, type Lab } from './lab/lab.ts';
import { inNamespace } from './lab/netns.ts';
import { address } from './lab/topology.ts';
import { BenchAgent } from './neighbours/agentprocess.ts';
import { podObjects } from './podobjects.ts';

const NODE = 'n1';
/** `db` is closed to all. */
export const DENIAL_PODS = {
  flooder: address('10.0.1.1'),
  neighbour: address('10.0.1.2'),
  db: address('10.0.1.3'),
} as const;

export interface DenialPlace {
  readonly dist: string;
  readonly lab: Lab;
  readonly folder: string;
  /** The socket of the agents, which run one at a time. */
  readonly socket: string;
}

/** Taken away behind the work. */
export async function inDenialPlace<T>(work: (place: DenialPlace) => Promise<T>): Promise<T> {
  const dist = builtFolder();
  const lab = await buildLab({
    nodes: [{ name: NODE, addresses: [address('172.18.0.11')] }],
    pods: Object.entries(DENIAL_PODS).map(([name, own]) => ({
      name: `bench/${name}`,
      node: NODE,
      addresses: [own],
    })),
    outside: [],
  });
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  try {
    writeFileSync(join(folder, 'cluster.json'), JSON.stringify(LIST));
    return await work({ dist, lab, folder, socket: join(folder, 'sluice.sock') });
  } finally {
    lab.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Time for the remaining work of the start. */
const SETTLE_MS = 10_000;

/** Runs with an agent whose rules are in force, and that is idle. */
export async function withDenialAgent<T>(
  { dist, lab, folder, socket }: DenialPlace,
  options: readonly string[],
  work: (agent: BenchAgent, client: AgentClient) => Promise<T>,
): Promise<T> {
  const node = { run: <R>(inside: () => R): R => inNamespace(lab.nodeNamespace(NODE), inside) };
  const source = ['--node', NODE, '--manifests', join(folder, 'cluster.json'), '--socket', socket];
  const agent = new BenchAgent(dist, node, [...source, ...options]);
  try {
    await agent.programmed();
    const client = await connectedAgent(socket);
    await new Promise(resolve => setTimeout(resolve, SETTLE_MS));
    return await work(agent, client).finally(() => client.close());
  } finally {
    await agent.end();
  }
}

const LIST = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    ...podObjects(
      NODE,
      Object.entries(DENIAL_PODS).map(([name, ip]) => ({ name, ip, labels: { app: name } })),
    ),
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'db', namespace: 'bench' },
      spec: { podSelector: { matchLabels: { app: 'db' } }, policyTypes: ['Ingress'] },
    },
  ],
};
