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
  const theirs = () => senders().match(new RegExp(`${mac} \\. [0-9.]+`, 'g'));
  ground.exec('attacker', 'ip', ['address', 'add', `${friend}/24`, 'dev', 'eth0']);
  ground.exec('attacker', 'ip', ['address', 'add', '198.51.100.1/32', 'dev', 'eth0']);
  await until('its second address is known', () => senders().includes('198.51.100.1'));
  expect(senders()).not.toContain(`${mac} . ${friend}`);
  expect(await isHeardAsFriend()).toBe(false);
  ground.exec('attacker', 'ip', ['address', 'flush', 'dev', 'eth0']);
  await until('it has none', () => !senders().includes('198.51.100.1'));
  expect(theirs()).toEqual([`${mac} . ${ADDRESSES.attacker.ip}`]);
  expect(await isHeardAsFriend()).toBe(false);
  await agent.kill();
  await startAgent();
  expect(await isHeardAsFriend(), 'by the next agent').toBe(false);
});

/** Whether the attacker, who may send nothing, is heard out of the node as an address that nobody has. */
function isHeardAs(own: Address): Promise<boolean> {
  const packets = [packet({ from: own, to: ADDRESSES.outside.ip, protocol: 'UDP', port: 53 })];
  return arrives(ground, { from: 'attacker', to: 'outside', packets });
}

test('a pod that gives itself a free address of the pod network, beside its own or in its place, does not send from it', async () => {
  const free = '10.9.0.200' as Address;
  // Read as this one is.
  const mark = '198.51.100.1';
  const agent = await startAgent();
  for (const line of [`add ${free}/24`, `add ${mark}/32`])
    ground.exec('attacker', 'ip', ['address', ...line.split(' '), 'dev', 'eth0']);
  await until('its addresses are read', () => senders().includes(mark));
  expect(await isHeardAs(free), 'beside its own').toBe(false);
  for (const line of [`del ${ADDRESSES.attacker.ip}/24`, `del ${mark}/32`, `replace ${free}/24`])
    ground.exec('attacker', 'ip', ['address', ...line.split(' '), 'dev', 'eth0']);
  await until('its addresses are read again', () => !senders().includes(mark));
  expect(await isHeardAs(free), 'in its place').toBe(false);
  await agent.kill();
  await startAgent();
  expect(await isHeardAs(free), 'with the next agent').toBe(false);
});

/** The port that the bridge sends the victim's frames by. */
function portOfVictim(): string {
  const entries = ground.exec('node', 'bridge', ['fdb', 'show', 'br', 'cni0']).split('\n');
  const learned = entries.filter(
    entry => entry.startsWith(ground.mac('victim')) && !entry.includes('permanent'),
  );
  return learned.map(entry => /dev (\S+)/.exec(entry)![1]!).join();
}

test('a pod that takes its neighbour’s hardware address does not have its frames', async () => {
  await startAgent();
  const free = '0a:00:00:00:09:09';
  const attacker = `"to-attacker" . ${ground.mac('attacker')}`;
  const sends = (from: 'attacker' | 'victim', to: 'outside' | 'friend') =>
    arrives(ground, {
      from,
      to,
      packets: [packet({ from: ADDRESSES[from].ip, to: ADDRESSES[to].ip, protocol: 'UDP', port: 53 })],
    });
  expect(await sends('victim', 'outside')).toBe(true);
  expect(portOfVictim()).toBe('to-victim');
  ground.exec('attacker', 'ip', ['link', 'set', 'eth0', 'address', ground.mac('victim')]);
  ground.exec('attacker', 'ip', ['address', 'add', '198.51.100.1/32', 'dev', 'eth0']);
  await until('it is read', () => senders().includes('198.51.100.1'));
  expect(senders()).not.toContain(`"to-attacker" . ${ground.mac('victim')}`);
  await sends('attacker', 'friend');
  expect(portOfVictim()).toBe('to-victim');
  expect(senders()).toContain(`${attacker} . ${ADDRESSES.attacker.ip}`);
  ground.exec('attacker', 'ip', ['link', 'set', 'eth0', 'address', free]);
  await until('it has one that nobody has', () => senders().includes(`"to-attacker" . ${free}`));
});

test('a pod that comes is known by its port', async () => {
  await startAgent();
  const next = '10.9.0.50';
  inNode('link', 'add', 'to-next', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', ground.nameOf('outside'));
  inNode('link', 'set', 'to-next', 'master', 'cni0', 'up');
  ground.exec('outside', 'ip', ['address', 'add', `${next}/24`, 'dev', 'eth0']);
  const mac = ground.mac('outside', 'eth0');
  await until('known', () => senders().includes(`"to-next" . ${mac} . ${next}`));
});
