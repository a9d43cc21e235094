/** What was recorded without a policy is judged by one, and once that one is enforced packets fare as was said. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { forgetConnections } from '../../bench/lab/conntrack.ts';
import { inNamespace } from '../../bench/lab/netns.ts';
import { probe } from '../../bench/lab/probe/probe.ts';
import type { AgentClient } from '../../src/api/rpc/client.ts';
import type { Address } from '../../src/model/address.ts';
import type { SeenFlow } from '../../src/observe/flows/seenflow.ts';
import { RecordingReader } from '../../src/observe/recording/read.ts';
import { MAIN, sluice } from '../support/agent/sluice.ts';
import { AgentSite, siteObjects, sitePolicy } from '../support/packets/agentsite.ts';
import { HOSTS, NODE } from '../support/packets/site.ts';
import { sendOnce } from '../support/pods/startingpods.ts';
import { until } from '../support/until.ts';

const METRICS = '127.0.0.1:9911';
const site = new AgentSite('record');

/** Lets x reach t on one port, and y none; the rest of the pods may open nothing. */
const policy = (enforcement: 'audit' | 'enforce'): object => {
  const ports = [{ port: 80 }, { protocol: 'UDP', port: 80 }];
  const ingress = [{ from: [{ podSelector: { matchLabels: { name: 'x' } } }], ports }];
  const spec = { policyTypes: ['Ingress', 'Egress'], ingress };
  return sitePolicy('web', spec, { 'sluice.dev/enforcement': enforcement });
};

const FLOWS = (['x', 'y', 't'] as const).flatMap(from =>
  (['t', 'x'] as const)
    .filter(to => to !== from)
    .flatMap(to =>
      ([0, 1] as const).flatMap(family =>
        ([['TCP', 80], ['UDP', 80], ['TCP', 81], ['SCTP', 80], ['ICMP']] as const).map(
          ([protocol, port]) => ({
            from: HOSTS[from][family],
            to: HOSTS[to][family],
            protocol,
            ...(port !== undefined && { port }),
          }),
        ),
      ),
    ),
);
const textOf = ({
  from,
  to,
  protocol,
  port,
}: {
  from: Address;
  to: Address;
  protocol: string | number;
  port?: number;
}) => `${from} ${to} ${protocol} ${port ?? ''}`;

/** As the agent's metrics have it, of which it is asked inside its network namespace. */
function auditedConnections(): { deny: number; allow: number; unjudged: number } {
  const program = `console.log(await (await fetch('http://${METRICS}/metrics')).text())`;
  const { stdout } = inNamespace(site.lab.nodeNamespace(NODE), () =>
    spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' }),
  );
  const lines = stdout.split('\n').map(line => line.split(/ (?=[^ ]*$)/));
  const [deny, allow, unjudged] = [
    'sluice_audited_connections{policy="NetworkPolicy probe/web",would="deny"}',
    'sluice_audited_connections{policy="NetworkPolicy probe/web",would="allow"}',
    'sluice_audited_connections_unjudged_total',
  ].map(name => Number(lines.find(([found]) => found === name)?.[1])) as [number, number, number];
  return { deny, allow, unjudged };
}

async function outcomes(): Promise<Map<string, string>> {
  forgetConnections(site.lab.nodeNamespace(NODE));
  const found = await probe(site.lab, FLOWS, { quietMs: 500 });
  return new Map(FLOWS.map((flow, i) => [textOf(flow), found[i] === 'open' ? 'allow' : 'deny']));
}

/** Until a connection that is opened now is told, and the recorder has read what it was told. */
async function toldAll(client: AgentClient, recorder: number): Promise<void> {
  const stop = new AbortController();
  const messages = client.flows(stop.signal);
  await messages.next();
  sendOnce(site.lab, HOSTS.t[0], HOSTS.x[0], 80, 'behind');
  const isIt = ({ from, to }: SeenFlow) => from.address === HOSTS.t[0] && to.address === HOSTS.x[0];
  for await (const { flows } of messages) if (flows.some(isIt)) break;
  stop.abort();
  await until('the recorder has read all', () => {
    const { stdout } = spawnSync('ss', ['-Hxp'], { encoding: 'utf8' });
    const own = stdout.split('\n').filter(line => line.includes(`pid=${recorder},`));
    return own.length > 0 && own.every(line => line.split(/\s+/)[2] === '0');
  });
}

test('run, record, replay, audit, enforce: what replay and audit deny is what packets are denied, and no more', async () => {
  site.write(...siteObjects(), policy('audit'));
  const agent = await site.agent('--metrics-address', METRICS, '--log-level', 'debug');
  const client = await site.client();
  const { socket } = site;

  const file = join(site.folder, 'probe.rec');
  const recorder = spawn(process.execPath, [MAIN, 'record', file, '--for', '10m', '--socket', socket]);
  recorder.stderr.setEncoding('utf8');
  let said = '';
  recorder.stderr.on('data', text => {
    said += text;
  });
  // Audited policies follow too.
  await until('the recording', () => agent.output.includes('"followers":2,'));
  const before = await outcomes();
  expect([...before.values()].filter(verdict => verdict === 'deny')).toEqual([]);
  await toldAll(client, recorder.pid!);
  recorder.kill('SIGINT');
  const [code] = await once(recorder, 'exit');
  expect([code, said]).toEqual([0, expect.stringMatching(/^recorded \d+ connections in /)]);

  const reader = new RecordingReader();
  for (const line of readFileSync(file, 'utf8').trimEnd().split('\n')) reader.add(line);
  const recording = reader.recording();
  expect(recording.isCut).toBeUndefined();
  const recorded = new Set(
    recording.flows.map(({ from, to, protocol, port }) =>
      textOf({ from: from.address, to: to.address, protocol, ...(port !== undefined && { port }) }),
    ),
  );
  expect([...recorded].sort()).toEqual([...before.keys()].sort());

  // Judged elsewhere, by a file with the policy alone.
  const enforced = join(site.folder, 'policy.json');
  writeFileSync(enforced, JSON.stringify(policy('enforce')));
  const replay = sluice('replay', file, '--manifests', enforced, '-o', 'json');
  expect([replay.status, replay.stderr]).toEqual([1, '']);
  const { connections } = JSON.parse(replay.stdout);
  const said1 = (verdict: string) =>
    connections
      .filter((group: { verdict: string }) => group.verdict === verdict)
      .map(
        (group: { from: string; to: string; protocol: string; port?: number }) =>
          `${group.from} ${group.to} ${group.protocol} ${group.port ?? ''}`,
      );
  const audit = sluice('audit', 'probe/web', '--recorded', file, '--socket', socket, '-o', 'json');
  expect([audit.status, JSON.parse(audit.stdout).policies]).toEqual([1, ['NetworkPolicy probe/web']]);

  const counted = auditedConnections();
  site.write(...siteObjects(), policy('enforce'));
  await agent.inForce(2);
  const after = await outcomes();
  const names = new Map(
    Object.entries(HOSTS).flatMap(([name, all]) => all.map(at => [at as string, `probe/${name}`])),
  );
  const fared = (verdict: string) =>
    [
      ...new Set(
        FLOWS.filter(flow => after.get(textOf(flow)) === verdict).map(
          ({ from, to, protocol, ...rest }) =>
            `${names.get(from)} ${names.get(to)} ${protocol} ${'port' in rest ? rest.port : ''}`,
        ),
      ),
    ].sort();
  expect(said1('deny').sort()).toEqual(fared('deny'));
  expect(said1('allow').sort()).toEqual(fared('allow'));
  // A machine that is busy leaves some unjudged, and counts them. One more was denied: the last, by which all had been told.
  const denials = [...after.values()].filter(verdict => verdict === 'deny').length + 1;
  expect(counted.allow).toBe(0);
  expect(counted.deny).toBeLessThanOrEqual(denials);
  expect(counted.deny + counted.unjudged).toBeGreaterThanOrEqual(denials);
  const { wouldDeny, wouldAllow } = JSON.parse(audit.stdout);
  const denied = wouldDeny.map(
    (group: { from: string; to: string; protocol: string; port?: number }) =>
      `${group.from} ${group.to} ${group.protocol} ${group.port ?? ''}`,
  );
  expect([denied.sort(), wouldAllow]).toEqual([fared('deny'), []]);
  expect(denied.length).toBeGreaterThan(5);
}, 120_000);
