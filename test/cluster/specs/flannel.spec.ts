/**
 * Flannel's VXLAN, as flanneld makes it: a pod that wraps packets itself, in the name of a peer that policy admits, is
 * heard by nobody. It needs no capability for that, only a datagram to the port of the tunnel.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAddress } from '../../../src/model/address.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { ask, create, read } from './support/api.ts';
import {
  backend,
  cni,
  command,
  families,
  kubectl,
  nodes,
  proxy,
  state,
  until,
  within,
} from './support/cluster.ts';
import { heardPorts } from './support/forger.ts';
import { endpoint, type RunningPod, type Site, settles, site } from './support/site.ts';

const hasTunnel = cni === 'flannel' && backend === 'vxlan';
const DEVICE = { '4': 'flannel.1', '6': 'flannel-v6.1' };
const NETWORK_ID = 1;
/** Of the inner datagrams: each has a number of its own, and the last one is sent by a node. */
const [FIRST, LAST] = [20_000, 29_999];

interface Target {
  readonly to: string;
  readonly port: number;
}

let place: Site;
let db: RunningPod;
let friend: RunningPod;
let attackers: readonly RunningPod[];
/** By family, what the tunnel of db's node takes for its own. */
const macs = new Map<string, string>();

const familyOf = (address: string) => (address.includes(':') ? '6' : '4');

beforeAll(async () => {
  if (!hasTunnel) return;
  place = await site('flannel');
  [db, friend, ...attackers] = await Promise.all([
    place.pod('db', { node: 'node1' }),
    place.pod('friend', { node: 'node2' }),
    ...nodes.map(node => place.pod(`bad-on-${node}`, { node })),
  ]);
  await place.policy('db', {
    podSelector: { matchLabels: { name: 'db' } },
    policyTypes: ['Ingress'],
    ingress: [{ from: [{ podSelector: { matchLabels: { name: 'friend' } } }] }],
  });
  expect(await settles(attackers[1]!, endpoint(db.address), 'closed')).toBe('closed');
  expect(await settles(friend, endpoint(db.address), 'open')).toBe('open');
});

/** What a tunnel of db's node would unwrap: a datagram of `friend` to db. */
function wrapped(family: string, number: number): string {
  const of = ({ addresses }: RunningPod) => parseAddress(addresses.find(ip => familyOf(ip) === family)!)!;
  const header = Buffer.alloc(8);
  header[0] = 0x08; // it has a network id
  header.writeUIntBE(NETWORK_ID, 4, 3);
  const mac = Buffer.from(macs.get(family)!.replaceAll(':', ''), 'hex');
  const from = Buffer.from('02000000bad0', 'hex');
  const type = Buffer.from(family === '4' ? '0800' : '86dd', 'hex');
  const inner = packet({ from: of(friend), to: of(db), protocol: 'UDP', port: number });
  return Buffer.concat([header, mac, from, type, inner]).toString('hex');
}

/** Sends from a socket that needs no capability. Who cannot be reached is left to the kernel. */
const SENDER = `
  const dgram = require('node:dgram');
  for (const { to, port, hex } of JSON.parse(process.argv[1])) {
    const socket = dgram.createSocket(to.includes(':') ? 'udp6' : 'udp4');
    socket.on('error', () => {});
    socket.send(Buffer.from(hex, 'hex'), port, to, () => socket.close());
  }
`;

async function send(namespace: string, datagrams: readonly (Target & { readonly hex: string })[]) {
  const { code, stderr } = await command(
    'nsenter',
    `--net=${namespace}`,
    process.execPath,
    '-e',
    SENDER,
    JSON.stringify(datagrams),
  );
  expect([code, stderr]).toEqual([0, '']);
}

interface NodeObject {
  readonly status: { readonly addresses: readonly { readonly type: string; readonly address: string }[] };
}

/** As `ip -j address` writes it. */
interface Interface {
  readonly ifname: string;
  readonly addr_info: readonly { readonly local: string; readonly scope: string }[];
}

/** Every address at which a node may be sent something, and the ports by which Services lead to its tunnel. */
async function targets(port: number): Promise<Target[]> {
  const { items }: { items: NodeObject[] } = await ask('GET', '/api/v1/nodes');
  const own = items.flatMap(({ status }) =>
    status.addresses.filter(({ type }) => type === 'InternalIP').map(({ address }) => address),
  );
  const ofTunnels = (await Promise.all(nodes.map(addressesOf))).flat();
  const services = await Promise.all(
    families.map(family => serviceOf(family, own.find(ip => familyOf(ip) === family)!, port)),
  );
  const byService = services.flatMap(({ ip, nodePort }) => [
    { to: ip, port },
    ...own.filter(to => familyOf(to) === familyOf(ip)).map(to => ({ to, port: nodePort })),
  ]);
  return [...[...own, ...ofTunnels].map(to => ({ to, port })), ...byService];
}

/** Of the bridge of the pods, and of the tunnels. */
async function addressesOf(node: string): Promise<string[]> {
  const links: Interface[] = JSON.parse(await within(node, 'ip', '-j', 'address', 'show'));
  return links
    .filter(({ ifname }) => /^(flannel|cni0)/.test(ifname))
    .flatMap(({ addr_info }) => addr_info.filter(({ scope }) => scope === 'global'))
    .map(({ local }) => local);
}

/** A Service, with a node port, that leads to the tunnel of a node. */
async function serviceOf(
  family: string,
  to: string,
  port: number,
): Promise<{ ip: string; nodePort: number }> {
  const name = `tunnel-${family}-${port}`;
  const ports = [{ protocol: 'UDP', port }];
  const service = await place.service(name, { type: 'NodePort', ipFamilies: [`IPv${family}`], ports });
  await create({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, namespace: place.namespace, labels: { 'kubernetes.io/service-name': name } },
    addressType: `IPv${family}`,
    endpoints: [{ addresses: [to], conditions: { ready: true } }],
    ports: [{ name: '', protocol: 'UDP', port }],
  } as never);
  const { spec } = (await read(service)) as { spec: { clusterIP: string; ports: { nodePort: number }[] } };
  const { nodePort } = spec.ports[0]!;
  const leads = proxy === 'iptables' ? endpoint(to, port) : `${to} . ${port}`;
  for (const node of nodes) await ruled(node, leads);
  return { ip: spec.clusterIP, nodePort };
}

/** The inner datagrams that db has heard, by the attacker and the target that they were sent to. */
async function heardOf(port: number): Promise<string[]> {
  for (const family of families) {
    const [{ address }] = JSON.parse(await within('node1', 'ip', '-j', 'link', 'show', DEVICE[family]));
    macs.set(family, address);
  }
  const all = await targets(port);
  expect(all.length).toBeGreaterThanOrEqual(8 * families.length);
  const attempts = attackers.flatMap(attacker => all.map(target => ({ attacker, ...target })));
  const hexOf = (to: string, n: number) => wrapped(familyOf(to), n);
  let sending = Promise.resolve();
  const heard = await heardPorts(db, LAST, () => {
    sending = (async () => {
      for (const attacker of attackers) {
        const own = attempts.flatMap((each, n) => (each.attacker === attacker ? [{ ...each, n }] : []));
        await send(
          `/proc/${attacker.pid}/ns/net`,
          own.map(({ to, port, n }) => ({ to, port, hex: hexOf(to, FIRST + n) })),
        );
      }
      // A node may: its tunnel is heard, so that the others were sent rightly.
      const to = all[0]!.to;
      await send(`/proc/${readFileSync(join(state, 'node2.pid'), 'utf8').trim()}/ns/net`, [
        { to, port, hex: hexOf(to, LAST) },
      ]);
    })();
  });
  await sending;
  return attempts.flatMap(({ attacker, to, port }, n) =>
    heard.has(FIRST + n) ? [`${attacker.name} to ${endpoint(to, port)}`] : [],
  );
}

/** Waits for rules of Sluice or of kube-proxy. */
function ruled(node: string, text: string): Promise<true> {
  const lists = [
    ['nft', 'list', 'ruleset'],
    ...(proxy === 'iptables' ? [['iptables-save'], ['ip6tables-save']] : []),
  ];
  return until(`rules of ${node} name ${text}`, async () => {
    const rules = await Promise.all(lists.map(words => within(node, ...words)));
    return rules.some(list => list.includes(text)) ? true : undefined;
  });
}

/** Has Flannel use another port, and waits until both its tunnels and our rules know of it. */
async function usePort(port: number): Promise<void> {
  const config = JSON.parse(
    await kubectl('-n', 'kube-flannel', 'get', 'configmap', 'kube-flannel-cfg', '-o', 'json'),
  );
  const network = JSON.parse(config.data['net-conf.json']);
  network.Backend.Port = port;
  const patch = JSON.stringify({ data: { 'net-conf.json': JSON.stringify(network) } });
  await kubectl('-n', 'kube-flannel', 'patch', 'configmap', 'kube-flannel-cfg', '-p', patch);
  await kubectl('-n', 'kube-flannel', 'rollout', 'restart', 'daemonset/kube-flannel-ds');
  await kubectl('-n', 'kube-flannel', 'rollout', 'status', 'daemonset/kube-flannel-ds', '--timeout=120s');
  for (const node of nodes) await ruled(node, `${port}`);
  expect(await settles(friend, endpoint(db.address), 'open')).toBe('open');
}

describe.skipIf(!hasTunnel)('a tunnel of Flannel (elsewhere there is none)', () => {
  afterAll(() => usePort(8472));

  test('hears nobody but nodes, by whatever address or Service a pod sends to it', async () => {
    expect(await heardOf(8472)).toEqual([]);
  });

  test('neither where Flannel was given another port', async () => {
    await usePort(8999);
    expect(await heardOf(8999)).toEqual([]);
  });
});
