import { expect, test } from 'vitest';
import { type Address, parseAddress } from '../../model/address.ts';
import { ClusterState, type Pod } from '../../model/cluster.ts';
import type { Policy } from '../../model/policy.ts';
import { EVERYTHING } from '../../model/selector.ts';
import { causeOf, type DeniedPacket } from './cause.ts';
import { ModelView } from './modelview.ts';
import { nameDenial } from './name.ts';
import type { ServiceOf } from './servicenames.ts';

const at = (text: string) => parseAddress(text) as Address;
const BRIDGE = '10.1.0.1';
const UPLINK = 2;
const POD_LINK = 7;

function pod(namespace: string, name: string, address: string, node: string): Pod {
  const rest = { labels: {}, hostNetwork: false, finished: false, createdAt: '', ports: [] };
  return { key: `${namespace}/${name}`, namespace, name, node, addresses: [at(address)], ...rest };
}

function isolating(namespace: string, ...directions: ('ingress' | 'egress')[]): Policy {
  return {
    id: `NetworkPolicy ${namespace}/closed`,
    kind: 'NetworkPolicy',
    name: `${namespace}/closed`,
    tier: 'networkpolicy',
    order: 0,
    subject: { namespaces: { kind: 'name', name: namespace }, pods: EVERYTHING },
    ...Object.fromEntries(directions.map(direction => [direction, []])),
  };
}

let nowMs = 0;

/** shop/db here isolated for ingress, jail/cat here for egress, guest/visitor here, far/away on n2. */
function world(): { view: ModelView; state: ClusterState } {
  const state = new ClusterState();
  const view = new ModelView(state, { node: 'n1', unknownPods: 'deny', now: () => nowMs });
  const apply = (event: Parameters<ClusterState['apply']>[0]) => {
    view.apply(event);
    state.apply(event);
  };
  for (const [name, cidr, address] of [
    ['n1', '10.1.0.0/24', '172.18.0.1'],
    ['n2', '10.2.0.0/24', '172.18.0.2'],
  ] as const) {
    const links = { uplinks: [UPLINK], podBridges: [], broadcasts: [at('10.1.255.255')] };
    const value = { name, labels: {}, addresses: [at(address)], podCidrs: [cidr], links };
    const bridge = name === 'n1' && { interfaceAddresses: [at(BRIDGE)] };
    apply({ type: 'node', key: name, value: { ...value, ...bridge } });
  }
  for (const value of [
    pod('shop', 'db', '10.1.0.2', 'n1'),
    pod('guest', 'visitor', '10.1.0.3', 'n1'),
    pod('jail', 'cat', '10.1.0.4', 'n1'),
    pod('far', 'away', '10.2.0.2', 'n2'),
  ])
    apply({ type: 'pod', key: value.key, value });
  for (const value of [isolating('shop', 'ingress'), isolating('jail', 'egress')])
    apply({ type: 'policy', key: value.id, value });
  return { view, state };
}

const [DB, VISITOR, CAT, AWAY] = ['10.1.0.2', '10.1.0.3', '10.1.0.4', '10.2.0.2'];

function denied(from: string, to: string, other: Partial<DeniedPacket> = {}, flags = 2): DeniedPacket {
  const tcp = { flags, sequence: 1 };
  const head = { from: at(from), to: at(to), protocol: 'TCP', sourcePort: 999, port: 80, tcp } as const;
  return { head, hook: 'forward', iif: POD_LINK, ...other };
}

function heartbeat(from: string, to: string, chunk = 4): DeniedPacket {
  const head = {
    from: at(from),
    to: at(to),
    protocol: 'SCTP',
    sourcePort: 999,
    port: 80,
    sctp: { chunk },
  } as const;
  return { head, hook: 'forward', iif: POD_LINK };
}

function tunnel(from = VISITOR!, to = '172.18.0.2', hook: DeniedPacket['hook'] = 'forward'): DeniedPacket {
  const head = {
    from: at(from),
    to: at(to),
    protocol: 'UDP',
    sourcePort: 9,
    port: 8472,
  } as const;
  return { head, hook, iif: POD_LINK };
}

/** Port unreachable. */
function unreachable(from: string, other: Partial<DeniedPacket> = {}): DeniedPacket {
  const head = { from: at(from), to: at(AWAY!), protocol: 'ICMP', icmp: { type: 3, code: 3 } } as const;
  return { head, hook: 'forward', iif: POD_LINK, ...other };
}

const EVERYBODY = { kind: 'link', reason: expect.stringContaining('to a multicast or broadcast address') };

function piece(iif: number): DeniedPacket {
  const head = { from: at('fd00:7::1'), to: at('fd00:8::1'), protocol: 'UDP', fragment: 'later' } as const;
  return { head, hook: 'forward', iif };
}

test.each([
  [
    'ingress of a pod',
    denied(VISITOR!, DB!),
    { kind: 'policy', direction: 'ingress', policy: 'NetworkPolicy shop/closed' },
  ],
  [
    'egress of a pod',
    denied(CAT!, AWAY!),
    { kind: 'policy', direction: 'egress', policy: 'NetworkPolicy jail/closed' },
  ],
  [
    'what has more headers than anybody read',
    { ...denied(VISITOR!, DB!), head: { from: at(VISITOR!), to: at(DB!), protocol: 60, cut: true } },
    { kind: 'unexplained', reason: expect.stringContaining('its protocol and port are not known') },
  ],
  ['egress before ingress', denied(CAT!, DB!), { kind: 'policy', direction: 'egress' }],
  [
    'egress to the node',
    denied(CAT!, '172.18.0.1', { hook: 'input' }),
    { kind: 'policy', direction: 'egress' },
  ],
  ['an unknown pod that sends', denied('10.1.0.99', AWAY!), { kind: 'unknown-pod', direction: 'egress' }],
  [
    'an unknown pod that is sent to',
    denied(VISITOR!, '10.1.0.99'),
    { kind: 'unknown-pod', direction: 'ingress' },
  ],
  ['what no policy denies', denied(VISITOR!, AWAY!), { kind: 'unexplained' }],
  ['an error of a pod about a connection of others', unreachable(VISITOR!), { kind: 'link' }],
  ['an error of a pod that may send nothing', unreachable(CAT!, { hook: 'input' }), { kind: 'link' }],
  ['a tunnel between nodes', tunnel(), { kind: 'link', direction: 'egress' }],
  [
    "a tunnel that ends at the node's own bridge",
    tunnel(VISITOR!, BRIDGE, 'input'),
    { kind: 'link', direction: 'egress' },
  ],
  [
    'a tunnel of who is behind a link of pods, and none that is known',
    tunnel('10.9.0.1'),
    { kind: 'link', reason: expect.stringContaining('tunnel') },
  ],
  ['what another node would deny', denied(VISITOR!, '10.2.0.99'), { kind: 'unexplained' }],
  [
    'a packet from the middle, of a server',
    denied(DB!, VISITOR!, {}, 16),
    { kind: 'mid-stream', direction: 'ingress' },
  ],
  [
    'a packet from the middle, to a client',
    denied(VISITOR!, CAT!, {}, 16),
    { kind: 'mid-stream', direction: 'egress' },
  ],
  [
    'a packet from the middle, of a client',
    denied(VISITOR!, DB!, {}, 16),
    { kind: 'policy', direction: 'ingress' },
  ],
  [
    'a heartbeat of SCTP, of a server',
    heartbeat(DB!, VISITOR!),
    { kind: 'mid-stream', direction: 'ingress' },
  ],
  ['a heartbeat of SCTP, of a client', heartbeat(VISITOR!, DB!), { kind: 'policy', direction: 'ingress' }],
  ['an INIT of SCTP', heartbeat(CAT!, DB!, 1), { kind: 'policy', direction: 'egress' }],
  ['a node in the middle', denied('172.18.0.1', CAT!, { hook: 'output' }, 16), { kind: 'mid-stream' }],
  ['a foreign source', denied('10.9.0.1', VISITOR!), { kind: 'link' }],
  ['a foreign source that policy denies too', denied('10.9.0.1', DB!), { kind: 'policy' }],
  ['a pod of ours from elsewhere', denied(VISITOR!, AWAY!, { iif: UPLINK }), { kind: 'link' }],
  [
    'a foreign source where pods are attached',
    denied('10.9.0.1', DB!, { hook: 'prerouting' }),
    { kind: 'link' },
  ],
  [
    'a pod that reaches itself through a Service, where the kernel does not say that it did',
    denied(CAT!, CAT!),
    { kind: 'policy', direction: 'egress', policy: 'NetworkPolicy jail/closed' },
  ],
  ['everybody', denied(VISITOR!, '224.0.0.1'), { kind: 'link' }],
  ['loopback of the node', denied(VISITOR!, '127.0.0.1', { hook: 'input' }), { kind: 'link' }],
  ['everybody of the pod network', denied(VISITOR!, '10.1.0.255'), EVERYBODY],
  ['everybody of a bridge', denied(CAT!, '10.1.255.255'), EVERYBODY],
  [
    'what comes from outside for everybody',
    denied(AWAY!, '10.1.0.255', { iif: UPLINK }),
    { kind: 'unknown-pod', direction: 'ingress' },
  ],
  ['a piece of IPv6 that nobody put together', piece(POD_LINK), { kind: 'link' }],
  ['a piece from outside, which policy judges', piece(UPLINK), { kind: 'unexplained' }],
] as [string, DeniedPacket, object][])('causeOf() knows %s', (_, packet, cause) => {
  expect(causeOf(packet, world().view)).toMatchObject(cause);
});

test('causeOf() names every policy that isolates, and of a rule the one that has it', () => {
  const { view, state } = world();
  const apply = (value: Policy) => {
    const event = { type: 'policy', key: value.id, value } as const;
    view.apply(event);
    state.apply(event);
  };
  const policy = isolating('shop', 'ingress');
  const first = 'NetworkPolicy shop/allow-dns';
  apply({ ...policy, id: first, name: 'shop/allow-dns' });
  expect(causeOf(denied(VISITOR!, DB!), view)).toMatchObject({ policy: first, policies: [first, policy.id] });
  const id = 'ClusterNetworkPolicy guard';
  const rule = { path: 'ingress[0]', action: 'deny', peers: 'any', ports: 'any' } as const;
  apply({ ...policy, id, kind: 'ClusterNetworkPolicy', name: 'guard', tier: 'admin', ingress: [rule] });
  expect(causeOf(denied(VISITOR!, DB!), view)).toMatchObject({ policy: id, policies: [id] });
});

test('a denial has the names of pods, nodes and Services', () => {
  const { view } = world();
  const serviceOf: ServiceOf = ({ address }) => (address === '10.96.0.1' ? 'shop/postgres' : undefined);
  const dialled = { address: at('10.96.0.1'), port: 5432 };
  expect(nameDenial(denied(VISITOR!, DB!, { dialled }), view, serviceOf)).toMatchObject({
    from: { address: VISITOR, pod: 'guest/visitor' },
    to: { address: DB, pod: 'shop/db' },
    service: { address: '10.96.0.1', port: 5432, name: 'shop/postgres' },
  });
  expect(nameDenial(denied(CAT!, '10.96.0.1'), view, serviceOf).service?.name).toBe('shop/postgres');
  expect(nameDenial(denied(CAT!, '172.18.0.2'), view, serviceOf).to.node).toBe('n2');
  expect(nameDenial(denied(CAT!, BRIDGE), view, serviceOf).to.node).toBe('n1');
});

test('a pod that has just gone still has its name, until somebody has its address or a minute is over', () => {
  const { view, state } = world();
  const end = () => nameDenial(denied(VISITOR!, DB!), view, () => undefined).from;
  const gone = { type: 'pod', key: 'guest/visitor' } as const;
  view.apply(gone);
  state.apply(gone);
  expect(end()).toMatchObject({ address: VISITOR, pod: 'guest/visitor', gone: true });
  nowMs += 61_000;
  expect(end()).toEqual({ address: VISITOR });
  view.apply({ type: 'pod', key: 'guest/next', value: pod('guest', 'next', VISITOR!, 'n1') });
  expect(end()).toMatchObject({ address: VISITOR, pod: 'guest/next' });
});
