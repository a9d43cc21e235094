/** Who has no rights on the node is told of no connection, denied or opened. */
import { spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { inNamespace } from '../../bench/lab/netns.ts';
import { probe } from '../../bench/lab/probe/probe.ts';
import { AgentSite, siteObjects, sitePolicy } from '../support/packets/agentsite.ts';
import { DENIED_PORT, HOSTS, NODE } from '../support/packets/site.ts';

const UNPRIVILEGED = join(import.meta.dirname, '../support/agent/unprivileged.ts');
const site = new AgentSite('readers');

beforeAll(() => {
  site.write(...siteObjects(), sitePolicy('firm', { policyTypes: ['Ingress'] }));
});

test('another user of the node is refused all that the agent tells, also where there is something to tell', async () => {
  chmodSync(site.folder, 0o755); // it is the socket that is closed
  await site.agent();
  const client = await site.client();
  const flow = { from: HOSTS.x[0], to: HOSTS.t[0], protocol: 'UDP', port: DENIED_PORT } as const;
  await probe(site.lab, [flow], { quietMs: 200 });
  const mine = async () => {
    const ports: unknown[] = [];
    for await (const { denial } of client.drops(false)) if (denial !== undefined) ports.push(denial.port);
    return ports;
  };
  await expect.poll(mine, { timeout: 30_000 }).toEqual([DENIED_PORT]);
  const asked = inNamespace(site.lab.nodeNamespace(NODE), () =>
    spawnSync(process.execPath, [UNPRIVILEGED, site.socket], { encoding: 'utf8' }),
  );
  const { answers, refused } = JSON.parse(asked.stdout || '{}');
  expect(answers, asked.stderr).toEqual([]);
  expect(Object.keys(refused).sort()).toEqual(['connections', 'drops', 'flows', 'names', 'state', 'status']);
  for (const message of Object.values(refused)) expect(message).toMatch(/EACCES|permission/i);
});
