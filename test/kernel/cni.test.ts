/** `sluice-cni` as a runtime runs it: a process for each verb, beside a whole agent. shim.test.ts has it alone. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { probe } from '../../bench/lab/probe/probe.ts';
import { cniSocketOf } from '../../src/api/rpc/cnisocket.ts';
import { parseAddress } from '../../src/model/address.ts';
import { AgentProcess } from '../support/agent/agentprocess.ts';
import { type Invocation, runCni } from '../support/pods/cni.ts';
import { KniClient } from '../support/pods/kniclient.ts';
import { PodSite } from '../support/pods/podsite.ts';
import { buildShim } from '../support/pods/shim.ts';

const NODE = 'worker';
const folder = mkdtempSync(join(tmpdir(), 'sluice-cni-'));
const socket = join(folder, 'sluice.sock');
const LIST = { cniVersion: '1.1.0', name: 'pods', type: 'sluice-cni', socket: cniSocketOf(socket) };
const shim = buildShim(folder);

let site: PodSite;
let agent: AgentProcess;

const object = (kind: string, name: string, rest: object) => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, ...(kind === 'Pod' && { namespace: 'shop', labels: { app: name } }) },
  ...rest,
});

/** An agent that answers, and pods `a` to `f` of the namespace `shop`. */
async function start(how: 'attach' | 'chained'): Promise<void> {
  const manifests = mkdtempSync(join(folder, 'manifests-'));
  const write = (name: string, value: object) =>
    writeFileSync(join(manifests, `${name}.json`), JSON.stringify(value));
  write('node', object('Node', NODE, { spec: { podCIDRs: ['10.78.0.0/24', 'fd78::/64'] } }));
  for (const name of 'abcdef') write(name, object('Pod', name, { spec: { nodeName: NODE, containers: [] } }));
  write('policy', {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'closed', namespace: 'shop' },
    spec: { podSelector: { matchLabels: { app: 'b' } }, ingress: [] },
  });
  agent = new AgentProcess(site.node, NODE, [
    '--manifests',
    manifests,
    '--socket',
    socket,
    '--pod-network',
    how,
  ]);
  await agent.inForce();
  const kni = new KniClient(socket);
  await kni.answered();
  kni.close();
}

const run = (invocation: Partial<Invocation> & { command: string }) =>
  runCni(shim, { config: LIST, ...invocation });

async function add(name: string, config: object = LIST) {
  const netns = await site.add(name);
  const outcome = await run({ command: 'ADD', sandbox: `box-${name}`, netns, pod: `shop/${name}`, config });
  const addresses: string[] = (outcome.output.ips ?? []).map(
    (ip: { address: string }) => ip.address.split('/')[0],
  );
  site.settle(name, addresses);
  return { ...outcome, netns, addresses };
}

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('main mode', () => {
  beforeAll(async () => {
    site = await PodSite.build();
    await start('attach');
  });
  afterAll(async () => {
    await agent.kill();
    await site.close();
  });

  test('ADD answers with both ends, addresses and routes, under the rules of the pod', async () => {
    const [a, b] = [await add('a'), await add('b')];
    expect(a).toMatchObject({ code: 0, output: { cniVersion: '1.1.0' } });
    expect(a.output.interfaces).toEqual([
      { name: expect.stringMatching(/^sl/), mac: expect.stringMatching(/^02:/), mtu: 1500 },
      { name: 'eth0', mac: expect.stringMatching(/^06:/), mtu: 1500, sandbox: a.netns },
    ]);
    expect(a.output.ips.map((ip: { interface: number }) => ip.interface)).toEqual([1, 1]);
    expect(a.output.routes.map((route: { dst: string }) => route.dst)).toEqual(['0.0.0.0/0', '::/0']);
    const [at, to] = [a, b].map(({ addresses }) => parseAddress(addresses[0]!)!) as [never, never];
    const tried = [
      { from: at, to, protocol: 'TCP', port: 80 },
      { from: to, to: at, protocol: 'TCP', port: 80 },
    ] as const;
    expect(await probe(site, tried)).toEqual(['closed', 'open']);
  });

  test('CHECK agrees with the result of ADD, and with no other', async () => {
    const { output, netns } = await add('c');
    const asked = { command: 'CHECK', sandbox: 'box-c', netns, pod: 'shop/c' };
    expect(await run({ ...asked, config: { ...LIST, prevResult: output } })).toMatchObject({ code: 0 });
    const other = { ...output, ips: [{ address: '10.78.0.99/32' }] };
    expect((await run({ ...asked, config: { ...LIST, prevResult: other } })).output.code).toBe(100);
    expect((await run({ ...asked, sandbox: 'box-z' })).output).toMatchObject({ code: 100 });
  });

  test('DEL takes it away, also the second time and without a namespace', async () => {
    await add('d');
    const before = site.devices().length;
    const asked = { command: 'DEL', sandbox: 'box-d', pod: 'shop/d' };
    expect(await run(asked)).toEqual({ code: 0, output: undefined });
    expect(await run(asked)).toEqual({ code: 0, output: undefined });
    expect(site.devices()).toHaveLength(before - 1);
  });

  test('GC keeps what the runtime names, and takes the rest', async () => {
    await add('e');
    await add('f');
    const valid = [{ containerID: 'box-e', ifname: 'eth0' }];
    const config = { ...LIST, 'cni.dev/valid-attachments': valid };
    expect(await run({ command: 'GC', config })).toEqual({ code: 0, output: undefined });
    expect(site.devices()).toHaveLength(1);
    expect(await run({ command: 'CHECK', sandbox: 'box-e', pod: 'shop/e' })).toMatchObject({ code: 0 });
    expect(agent.output).toContain('of shop/f: the runtime has no such sandbox');
    expect(await run({ command: 'GC' })).toEqual({ code: 0, output: undefined });
    expect(site.devices()).toHaveLength(1);
  });

  test('STATUS is silent while the node takes pods', async () => {
    expect(await run({ command: 'STATUS' })).toEqual({ code: 0, output: undefined });
  });

  test.each([
    ['another version', { command: 'ADD', config: { ...LIST, cniVersion: '0.2.0' } }, 1],
    ['a verb that there is not', { command: 'FLY' }, 4],
    ['no sandbox', { command: 'ADD', netns: '/run/netns/x', pod: 'shop/a' }, 4],
    ['no pod', { command: 'ADD', sandbox: 'x', netns: '/run/netns/x' }, 4],
    ['no namespace', { command: 'ADD', sandbox: 'x', pod: 'shop/a' }, 4],
    ['a path out of place', { command: 'ADD', sandbox: 'x', pod: 'shop/a', netns: '/etc/passwd' }, 4],
    ['what is nearly JSON', { command: 'ADD', config: `{"socket": "${LIST.socket}", "a": }` }, 6],
    [
      'a wrong port',
      {
        command: 'ADD',
        sandbox: 'x',
        pod: 'shop/a',
        netns: '/run/netns/x',
        config: {
          ...LIST,
          runtimeConfig: { portMappings: [{ hostPort: 1e6, containerPort: 1, protocol: 'tcp' }] },
        },
      },
      7,
    ],
  ] as const)('%s is refused in a sentence', async (_, invocation, code) => {
    const { output, code: exit } = await run(invocation);
    expect([exit, output.code]).toEqual([1, code]);
    expect(output.msg.length).toBeGreaterThan(10);
  });
});

test('chained after another plugin, the pod has rules before ADD answers, and the result is the other plugin’s', async () => {
  site = await PodSite.build();
  await start('chained');
  try {
    const netns = await site.add('b');
    const prevResult = {
      cniVersion: '1.1.0',
      interfaces: [{ name: 'veth1' }, { name: 'eth0', sandbox: netns }],
      ips: [{ address: '10.78.0.9/24', gateway: '10.78.0.1', interface: 1 }],
      dns: {},
    };
    const asked = { sandbox: 'box-b', netns, pod: 'shop/b', config: { ...LIST, prevResult } };
    expect(await run({ command: 'ADD', ...asked })).toEqual({ code: 0, output: prevResult });
    expect(site.exec(site.node, 'nft', ['list', 'map', 'ip', 'sluice', 'ingress-pods'])).toContain(
      '10.78.0.9',
    );
    expect(await run({ command: 'DEL', ...asked })).toEqual({ code: 0, output: undefined });
    const isGone = () =>
      !site.exec(site.node, 'nft', ['list', 'map', 'ip', 'sluice', 'ingress-pods']).includes('10.78.0.9');
    await expect.poll(isGone).toBe(true);
    const first = await run({ command: 'ADD', ...asked, config: LIST });
    expect(first).toMatchObject({ code: 1, output: { code: 7 } });
  } finally {
    await agent.kill();
    await site.close();
  }
});
