/** What pods had open into tunnels of nodes before there were rules, or before a node was known, ends with them (N72). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { address } from '../../../bench/lab/topology.ts';
import { FAMILIES } from '../../../src/model/address.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { AgentProcess } from '../../support/agent/agentprocess.ts';
import { arrives } from './attack.ts';
import { ADDRESSES, CLUSTER, GATEWAY, Ground, type Host, NETWORKS, OTHER_NODE } from './ground.ts';

/** By the same ports each time: what is sent again belongs to what is open. */
const ENDS = [
  ...[4789, 8472, 6081, 6080, 5555, 8285].map(
    port => ({ protocol: 'UDP', ports: { sourcePort: 9, port } }) as const,
  ),
  ...[4, 41, 47].map(protocol => ({ protocol, ports: {} })),
];
const BITS = { ip: 32, ip6: 128 } as const;
const LATER_NODE = { ip: address('172.18.9.4'), ip6: address('fd18::4') };
const LATER = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n3' },
  status: { addresses: Object.values(LATER_NODE).map(at => ({ type: 'InternalIP', address: at })) },
};
/** As kube-proxy has it before there is an agent. */
const TRACKED = ['forward', 'input']
  .map(
    hook => `table inet tracked { chain ${hook} { type filter hook ${hook} priority 0; ct state new;\n}\n}\n`,
  )
  .join('');

let ground: Ground;
let folder: string;
let agent: AgentProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-tunnels-'));
});

afterEach(async () => {
  await agent?.kill();
  ground.remove();
  rmSync(folder, { recursive: true });
});

function know(...items: readonly object[]): void {
  writeFileSync(join(folder, 'cluster.json'), JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
}

/** Of the tunnels that end there, those that a pod's packets reach. */
async function reached(to: Host, at: typeof LATER_NODE): Promise<string[]> {
  const all: string[] = [];
  for (const family of FAMILIES)
    for (const { protocol, ports } of ENDS) {
      const ends = { from: ADDRESSES.loose[family], to: at[family] };
      const packets = [packet({ ...ends, protocol, ...ports })];
      if (await arrives(ground, { from: 'loose', to, packets })) all.push(`${family} ${protocol}`);
    }
  return all;
}

/** So that what the pod sends is a connection's, and asked no rule. */
async function answer(at: typeof LATER_NODE): Promise<void> {
  for (const family of FAMILIES)
    for (const { protocol, ports } of ENDS) {
      const ends = { from: at[family], to: ADDRESSES.loose[family] };
      const reversed = 'port' in ports ? { sourcePort: ports.port, port: ports.sourcePort } : {};
      const packets = [packet({ ...ends, protocol, ...reversed })];
      expect(await arrives(ground, { from: 'outside', to: 'loose', packets })).toBe(true);
    }
}

describe.each(NETWORKS)('%s', network => {
  beforeEach(async () => {
    ground = await Ground.build({ network });
    for (const at of [OTHER_NODE, LATER_NODE])
      for (const family of FAMILIES)
        ground.exec('outside', 'ip', ['address', 'add', `${at[family]}/${BITS[family]}`, 'dev', 'wire']);
    ground.exec('node', 'nft', ['-f', '-'], TRACKED);
  });

  test('by whatever protocol, and to whichever node', async () => {
    const known = [
      ['node', ADDRESSES.node],
      ['node', GATEWAY],
      ['outside', OTHER_NODE],
    ] as const;
    for (const [to, at] of [...known, ['outside', LATER_NODE] as const])
      expect(await reached(to, at), at.ip).toHaveLength(2 * ENDS.length);
    for (const at of [OTHER_NODE, LATER_NODE]) await answer(at);
    know(...CLUSTER);
    agent = new AgentProcess(ground.path('node'), 'n1', ['--manifests', folder]);
    for (const [to, at] of known)
      await expect.poll(() => reached(to, at), { message: at.ip, timeout: 20_000 }).toEqual([]);
    expect(await reached('outside', LATER_NODE), 'of nobody').toHaveLength(2 * ENDS.length);
    know(...CLUSTER, LATER);
    await expect.poll(() => reached('outside', LATER_NODE), { timeout: 20_000 }).toEqual([]);
  });
});
