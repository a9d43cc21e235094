/** The agent learns by itself which pod is behind which port of a bridge, while pods come and go and it is killed. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Address } from '../../src/model/address.ts';
import { packet } from '../../src/nft/trace/packet.ts';
import { AgentProcess } from '../support/agent/agentprocess.ts';
import { arrives } from './hostile/attack.ts';
import { ADDRESSES, CLUSTER, Ground } from './hostile/ground.ts';

const PATIENCE_MS = 60_000;

let ground: Ground;
let folder: string;
const agents: AgentProcess[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-ports-'));
  writeFileSync(
    join(folder, 'cluster.json'),
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: CLUSTER }),
  );
  ground = await Ground.build({ network: 'bridge' });
});

afterEach(async () => {
  for (const agent of agents.splice(0)) await agent.kill();
  ground.remove();
  rmSync(folder, { recursive: true });
});

async function startAgent(): Promise<AgentProcess> {
  const agent = new AgentProcess(ground.path('node'), 'n1', ['--manifests', folder]);
  agents.push(agent);
  await agent.inForce();
  return agent;
}

/** Whether the attacker is heard as the victim's friend. */
function isHeardAsFriend(): Promise<boolean> {
  const packets = [packet({ from: ADDRESSES.friend.ip, to: ADDRESSES.victim.ip, protocol: 'UDP', port: 53 })];
  return arrives(ground, { from: 'attacker', to: 'victim', packets, mac: ground.mac('victim') });
}

/** What the table of bridges lets send by a port. */
function senders(): string {
  return ground.exec('node', 'nft', ['list', 'table', 'bridge', 'sluice']);
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  for (const deadline = Date.now() + PATIENCE_MS; !isSo(); await sleep(50))
    if (Date.now() > deadline) throw new Error(`${what}: ${senders()}`);
}

const inNode = (...args: string[]) => ground.exec('node', 'ip', args);

test('no pod sends as its neighbour, with an agent, without one, and with the next', async () => {
  const first = await startAgent();
  expect(await isHeardAsFriend()).toBe(false);
  await first.kill();
  expect(await isHeardAsFriend()).toBe(false);
  ground.exec('node', 'nft', ['delete', 'table', 'bridge', 'sluice']);
  expect(await isHeardAsFriend(), 'without the table').toBe(true);
  await startAgent();
  expect(await isHeardAsFriend()).toBe(false);
});

test('an address that another pod gets is that pod’s, also while no agent runs', async () => {
  const agent = await startAgent();
  const friend = ADDRESSES.friend.ip;
  expect(senders()).toContain(`"to-friend" . ${ground.mac('friend')} . ${friend}`);
  await agent.kill();
  inNode('link', 'del', 'to-friend');
  const address = ['address', 'replace', `${friend}/24`, 'dev', 'eth0'];
  ground.exec('friend', 'ip', [
    'link',
    'add',
    'eth0',
    'type',
    'veth',
    'peer',
    'name',
    'to-next',
    'netns',
    ground.nameOf('node'),
  ]);
  inNode('link', 'set', 'to-next', 'master', 'cni0', 'up');
  ground.exec('friend', 'ip', address);
  ground.exec('friend', 'ip', ['link', 'set', 'eth0', 'up']);
  const packets = [packet({ from: friend, to: ADDRESSES.victim.ip, protocol: 'UDP', port: 53 })];
  const own = { from: 'friend', to: 'victim', packets, mac: ground.mac('victim') } as const;
  // The bridge forwards by a port when it has seen that its link is up.
  await expect.poll(() => arrives(ground, own), { timeout: PATIENCE_MS }).toBe(true);
  await startAgent();
  expect(senders()).toContain(`"to-next" . ${ground.mac('friend')} . ${friend}`);
  expect(await arrives(ground, own)).toBe(true);
  expect(await isHeardAsFriend()).toBe(false);
});

test('a pod that takes its neighbour’s address, or hides its own, gains nothing by it', async () => {
  const agent = await startAgent();
  const [mac, friend] = [ground.mac('attacker'), ADDRESSES.friend.ip];
  ground.exec('attacker', 'ip', ['address', 'add', '10.9.0.200/24', 'dev', 'eth0']);
  ground.exec('attacker', 'ip', ['address', 'add', `${friend}/24`, 'dev', 'eth0']);
  await until('its second address is known', () => senders().includes('10.9.0.200'));
  expect(senders()).not.toContain(`${mac} . ${friend}`);
  expect(await isHeardAsFriend()).toBe(false);
  ground.exec('attacker', 'ip', ['address', 'flush', 'dev', 'eth0']);
  await until('it has none', () => !senders().includes('10.9.0.200'));
  expect(await isHeardAsFriend()).toBe(false);
  await agent.kill();
  await startAgent();
  expect(await isHeardAsFriend(), 'by the next agent').toBe(false);
});

test('a pod that comes is known by its port', async () => {
  await startAgent();
  const [next, pod] = ['10.9.0.50' as Address, 'loose'] as const;
  ground.exec(pod, 'ip', ['address', 'add', `${next}/24`, 'dev', 'eth0']);
  await until('known', () => senders().includes(`"to-loose" . ${ground.mac(pod)} . ${next}`));
});
