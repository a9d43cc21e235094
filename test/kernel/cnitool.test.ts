/**
 * CNI's own tool, `cnitool` of the CNI project, beside a whole agent: it reads the list of plugins, runs them as a
 * runtime does, keeps their results, and judges what they answer.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { inNamespace } from '../../bench/lab/netns.ts';
import { cniSocketOf } from '../../src/api/rpc/cnisocket.ts';
import { AgentProcess } from '../support/agent/agentprocess.ts';
import { KniClient } from '../support/pods/kniclient.ts';
import { PodSite } from '../support/pods/podsite.ts';
import { buildShim } from '../support/pods/shim.ts';

const NODE = 'worker';
const NETWORK = `sluice-test-${process.pid}`;
const MODULE = join(import.meta.dirname, '../cnitool');
const folder = mkdtempSync(join(tmpdir(), 'sluice-cnitool-'));
const bin = join(folder, 'bin');
const socket = join(folder, 'sluice.sock');
const OURS = { type: 'sluice-cni', socket: cniSocketOf(socket), capabilities: { portMappings: true } };
const PTP = {
  type: 'ptp',
  ipam: {
    type: 'host-local',
    dataDir: join(folder, 'ipam'),
    ranges: [[{ subnet: '10.79.0.0/24' }]],
    routes: [{ dst: '0.0.0.0/0' }],
  },
};

/** Why there is no cnitool; undefined where there is one. */
let missing: string | undefined;
let site: PodSite;
let agent: AgentProcess;

beforeAll(() => {
  mkdirSync(bin);
  mkdirSync(join(folder, 'results'));
  missing = whyMissing();
  cpSync(buildShim(folder), join(bin, 'sluice-cni'));
}, 900_000);

function whyMissing(): string | undefined {
  const version = spawnSync('go', ['env', 'GOVERSION'], { encoding: 'utf8' });
  if (version.error !== undefined) return 'cnitool is built from its Go module, and there is no go here';
  const build = spawnSync('go', ['build', '-trimpath', '-o', `${bin}/`, 'tool'], {
    cwd: MODULE,
    env: { ...process.env, CGO_ENABLED: '0' },
    encoding: 'utf8',
  });
  return build.status === 0
    ? undefined
    : `cnitool cannot be built: ${build.stderr.trim().split('\n').at(-1)}`;
}

beforeEach(async context => {
  if (missing !== undefined) return context.skip(missing);
  site = await PodSite.build();
});

afterEach(async () => {
  if (missing !== undefined) return;
  await agent.kill();
  await site.close();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function start(how: 'attach' | 'chained', plugins: readonly object[]): Promise<void> {
  const manifests = mkdtempSync(join(folder, 'manifests-'));
  const write = (kind: string, name: string, more: object) => {
    const metadata = { name, ...(kind !== 'Node' && { namespace: 'shop' }), labels: { app: name } };
    const apiVersion = kind === 'NetworkPolicy' ? 'networking.k8s.io/v1' : 'v1';
    writeFileSync(
      join(manifests, `${kind}-${name}.json`),
      JSON.stringify({ apiVersion, kind, metadata, ...more }),
    );
  };
  write('Node', NODE, { spec: { podCIDRs: ['10.79.0.0/24'] } });
  for (const name of ['a', 'b']) write('Pod', name, { spec: { nodeName: NODE, containers: [] } });
  write('NetworkPolicy', 'closed', { spec: { podSelector: {}, ingress: [] } });
  const list = { cniVersion: '1.1.0', name: NETWORK, plugins };
  writeFileSync(join(folder, '10-list.conflist'), JSON.stringify(list));
  const options = ['--manifests', manifests, '--socket', socket, '--pod-network', how];
  agent = new AgentProcess(site.node, NODE, options);
  await agent.inForce();
  const kni = new KniClient(socket);
  await kni.answered();
  kni.close();
}

/** cnitool keeps results in /var/lib/cni: it gets one of its own. */
function cnitool(verb: string, netns: string, pod = 'a', more: Readonly<Record<string, string>> = {}) {
  const script =
    'mount --make-rprivate / && mkdir -p /var/lib/cni && mount --bind "$1" /var/lib/cni && shift && exec "$@"';
  const words = ['--mount', 'sh', '-ec', script, 'sh', join(folder, 'results')];
  const env = {
    PATH: process.env.PATH,
    CNI_PATH: bin,
    NETCONFPATH: folder,
    CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=${pod}`,
    ...more,
  };
  return inNamespace(site.node, () => {
    const { status, stdout, stderr } = spawnSync(
      'unshare',
      [...words, join(bin, 'cnitool'), verb, NETWORK, netns],
      {
        env,
        encoding: 'utf8',
      },
    );
    return { status, stdout, stderr };
  });
}

const DONE = { status: 0, stdout: '', stderr: '' };
const guarded = () => site.exec(site.node, 'nft', ['list', 'map', 'ip', 'sluice', 'ingress-pods']);
const links = () =>
  JSON.parse(site.exec(site.node, 'ip', ['-j', 'link', 'show', 'type', 'veth'])) as unknown[];

test('K6: cnitool attaches, checks, detaches and collects by sluice-cni alone', async () => {
  await start('attach', [OURS]);
  const [a, b] = [await site.add('a'), await site.add('b')];
  expect(cnitool('status', a)).toEqual(DONE);
  const ports = { CAP_ARGS: '{"portMappings":[{"hostPort":8080,"containerPort":80,"protocol":"tcp"}]}' };
  const added = cnitool('add', a, 'a', ports);
  expect([added.status, added.stderr]).toEqual([0, '']);
  expect(JSON.parse(added.stdout)).toMatchObject({ cniVersion: '1.1.0', ips: [{ address: '10.79.0.2/32' }] });
  expect(guarded()).toContain('10.79.0.2');
  expect(site.exec(site.node, 'nft', ['list', 'map', 'ip', 'sluice', 'host-ports'])).toContain('8080');
  expect(cnitool('check', a)).toEqual(DONE);
  expect(cnitool('add', b, 'b').status).toBe(0);
  expect(links()).toHaveLength(2);
  expect(cnitool('del', a, 'a', ports)).toEqual(DONE);
  expect(cnitool('del', a)).toEqual(DONE);
  expect(cnitool('check', b, 'b')).toEqual(DONE);
  expect(links()).toHaveLength(1);
  site.exec(site.node, 'ip', ['route', 'flush', 'proto', '115']);
  expect(cnitool('check', b, 'b').stderr).toContain('is not attached, or only half');
  expect(cnitool('gc', b)).toEqual(DONE);
  expect(links()).toEqual([]);
});

test('K6: chained after ptp, the pod has rules when cnitool has its result, and none when it is gone', async () => {
  await start('chained', [PTP, OURS]);
  const a = await site.add('a');
  expect(cnitool('status', a)).toEqual(DONE);
  const added = cnitool('add', a);
  expect([added.status, added.stderr]).toEqual([0, '']);
  const address: string = JSON.parse(added.stdout).ips[0].address.split('/')[0];
  expect(guarded()).toContain(address);
  expect(cnitool('check', a)).toEqual(DONE);
  expect(cnitool('del', a)).toEqual(DONE);
  await expect.poll(guarded).not.toContain(address);
  expect(cnitool('add', a).status).toBe(0);
  expect(cnitool('gc', a)).toEqual(DONE);
  expect(links()).toEqual([]);
});

test('K6: while the agent is dead, cnitool hears to try again, and may detach', async () => {
  await start('attach', [OURS]);
  const a = await site.add('a');
  expect(cnitool('add', a).status).toBe(0);
  await agent.kill();
  expect(cnitool('status', a).stderr).toContain('no Sluice agent answers');
  expect(cnitool('add', await site.add('b'), 'b').stderr).toContain('no Sluice agent answers');
  expect(cnitool('del', a)).toEqual(DONE);
});
