/**
 * The very first packet of a pod, in either direction and family, right after the answer to AttachInterface. One
 * datagram is sent for each and none again, so what is lost is seen.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { probe } from '../../bench/lab/probe/probe.ts';
import { parseAddress } from '../../src/model/address.ts';
import { AgentProcess } from '../support/agent/agentprocess.ts';
import { KniClient } from '../support/pods/kniclient.ts';
import { PodSite } from '../support/pods/podsite.ts';

const PODS = 40;
const folder = mkdtempSync(join(tmpdir(), 'sluice-first-'));
const socket = join(folder, 'sluice.sock');
let site: PodSite;
let agent: AgentProcess;
let kni: KniClient;

beforeAll(async () => {
  site = await PodSite.build();
  const node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'worker' },
    spec: { podCIDRs: ['10.79.0.0/24', 'fd79::/64'] },
  };
  writeFileSync(join(folder, 'node.json'), JSON.stringify(node));
  const options = ['--manifests', folder, '--socket', socket, '--pod-network', 'attach'];
  agent = new AgentProcess(site.node, 'worker', options);
  await agent.inForce();
  kni = new KniClient(socket);
  await kni.answered();
});

afterAll(async () => {
  kni?.close();
  await agent?.kill();
  await site.close();
  rmSync(folder, { recursive: true });
});

async function attach(name: string, path: string) {
  const more = [[7, { app: name }]] as const;
  const { eth0 } = await kni.attach({ name, namespace: 'shop', id: `sandbox-${name}`, path, more });
  site.settle(name, eth0!.ip);
  return eth0!.ip.map(address => parseAddress(address)!);
}

test('the first packet of each family passes in both directions as soon as a pod is attached', async () => {
  const [web, ...paths] = await Promise.all(
    [...Array(PODS + 1).keys()].map(index => site.add(`pod${index}`)),
  );
  const old = await attach('pod0', web!);
  const lost: string[] = [];
  for (const [index, path] of paths.entries()) {
    const young = await attach(`pod${index + 1}`, path);
    const flows = [0, 1].flatMap(family => [
      { from: young[family]!, to: old[family]!, protocol: 'UDP', port: 5000 } as const,
      { from: old[family]!, to: young[family]!, protocol: 'UDP', port: 5001 } as const,
    ]);
    const outcomes = await probe(site, flows);
    for (const [at, outcome] of outcomes.entries())
      if (outcome === 'closed') lost.push(`${flows[at]!.from} to ${flows[at]!.to}`);
  }
  expect(lost).toEqual([]);
});
