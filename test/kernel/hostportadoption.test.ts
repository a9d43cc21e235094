/** Host ports outlive their agent: the next one takes them over from the kernel. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { inNamespace } from '../../bench/lab/netns.ts';
import { AgentProcess } from '../support/agent/agentprocess.ts';
import { sluice } from '../support/agent/sluice.ts';
import { KniClient, message } from '../support/pods/kniclient.ts';
import { hostPortsOf } from '../support/pods/podrules.ts';
import { PodSite } from '../support/pods/podsite.ts';

const CIDRS = ['10.84.0.0/24', 'fd84::/64'];

let site: PodSite;
let folder: string;
let agent: AgentProcess;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-ports-'));
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, spec: { podCIDRs: CIDRS } };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { nodeName: 'n', containers: [] },
  };
  writeFileSync(
    join(folder, 'all.json'),
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [node, pod] }),
  );
  site = await PodSite.build();
});

afterEach(async () => {
  await agent?.kill();
  await site.close();
  rmSync(folder, { recursive: true, force: true });
});

const socket = () => join(folder, 'sluice.sock');

async function start(): Promise<KniClient> {
  const manifests = join(folder, 'all.json');
  agent = new AgentProcess(site.node, 'n', [
    ...['--manifests', manifests, '--socket', socket(), '--pod-network', 'attach'],
  ]);
  await agent.inForce();
  const kni = new KniClient(socket());
  await kni.answered();
  return kni;
}

async function attachWithPort(): Promise<void> {
  const kni = await start();
  const path = await site.add('web');
  const port = message([
    [2, 8080],
    [3, 80],
  ]);
  await kni.attach({ name: 'web', namespace: 'shop', id: 'box', path, more: [[6, port]] });
  kni.close();
}

const WEB = ['10.84.0.2', 'fd84::2'].map(pod => ({
  protocol: 'TCP',
  hostPort: 80,
  pod,
  podPort: 8080,
  owner: 'shop/web',
}));

test('an agent that starts finds the host ports of its predecessor, and writes nothing', async () => {
  await attachWithPort();
  expect(await hostPortsOf(site)).toEqual(WEB);
  await agent.kill();
  (await start()).close();
  expect(agent.output).toContain('rules in force: those in the kernel were right');
  expect(await hostPortsOf(site)).toEqual(WEB);
});

test('`sluice inspect` finds equal what an agent with attached pods has programmed', async () => {
  await attachWithPort();
  const { status, stdout } = inNamespace(site.node, () => sluice('inspect', '--socket', socket()));
  expect(status).toBe(0);
  expect(stdout).toMatch(/\nequal: /);
});
