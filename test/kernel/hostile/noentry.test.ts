/**
 * A denied packet leaves no entry in connection tracking. One that does opens the way back: what answers it is
 * established, and errors about it are related, before any rule has asked who may. And entries take room of all pods. What is
 * for everybody comes to the node only where conntrack takes nothing of it (N71).
 */
import fc from 'fast-check';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { forgetConnections } from '../../../bench/lab/conntrack.ts';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { address } from '../../../bench/lab/topology.ts';
import { openConntrack } from '../../../src/kernel/netlink/conntrack/conntrack.ts';
import { type Address, FAMILIES } from '../../../src/model/address.ts';
import type { Flow } from '../../../src/model/flow.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { SEED } from '../../support/seed.ts';
import { arrives, gatewayMac, hears } from './attack.ts';
import { withIcmp } from './craft.ts';
import { enforcedGround } from './enforced.ts';
import { FrameSocket } from './frame.ts';
import { frameBytes, frames } from './frames.ts';
import { ADDRESSES, GATEWAY, type Ground, type Host, NETWORKS } from './ground.ts';

const BROADCAST = 'ff:ff:ff:ff:ff:ff';
const GROUPS = [BROADCAST, '01:00:5e:00:00:01', '33:33:00:00:00:01'] as const;
const NOBODY = address('0.0.0.0');
/** The node’s own reports of its groups (RFC 3376); no test sends there. */
const OF_NODE = address('224.0.0.22');
const REMOTE = { ip: address('10.9.1.12'), ip6: address('fd09:1::12') };
const ROOM = 4_000;

/** Isolated in both directions, but for what friend sends: that is how tests know that they would have heard. */
const isolated = (app: string) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: `${app}-isolated`, namespace: 'shop' },
  spec: {
    podSelector: { matchLabels: { app } },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ from: [{ podSelector: { matchLabels: { app: 'friend' } } }] }],
  },
});
const REMOTE_POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'remote', namespace: 'shop', labels: { app: 'remote' } },
  spec: { nodeName: 'n2', containers: [{ name: 'c' }] },
  status: { phase: 'Running', podIPs: Object.values(REMOTE).map(ip => ({ ip })) },
};

/** Whom the attacker conspires with: where he is, and by which address. */
const ACCOMPLICES = [
  ['a host outside', 'outside', ADDRESSES.outside],
  ['a pod of another node', 'outside', REMOTE],
  ['another isolated pod', 'victim', ADDRESSES.victim],
] as const;
const PORTS = { port: 5000, sourcePort: 6000 } as const;

describe.each(NETWORKS)('%s', network => {
  const ground = enforcedGround({ network }, isolated('attacker'), isolated('victim'), REMOTE_POD);
  let ownMac: string;
  beforeAll(() => {
    ownMac = ground.mac('attacker');
    ground.addAddresses('outside', 'wire', REMOTE);
  });
  beforeEach(() => forgetConnections(ground.path('node')));

  /** At its own bridge: everybody, its neighbours, and the node's ends of their links. */
  const macs = () => [
    ...GROUPS,
    '33:33:ff:00:00:12',
    '01:00:5e:01:02:03',
    '0a:00:00:00:00:77',
    ground.mac('victim'),
    ground.mac('attacker'),
    gatewayMac(ground, 'attacker'),
    ...['attacker', 'victim', 'friend'].map(pod => ground.mac('node', `to-${pod}`)),
  ];

  test('frames of every kind, from a pod that may send nothing', async () => {
    const to = macs();
    const from = [ground.mac('attacker'), ground.mac('victim'), ground.mac('friend')];
    const sent = fc.sample(frames(to.length), { seed: SEED, numRuns: 3_000 });
    await sendAll(
      ground,
      'attacker',
      sent.flat().map(frame => frameBytes(frame, to[frame.macTo]!, from[frame.macFrom]!)),
    );
    expect(await entries(ground)).toEqual([]);
  });

  describe.each(FAMILIES)('%s', family => {
    const own = ADDRESSES.attacker[family];
    const datagram = (from: Address, to: Address, ports: { port: number; sourcePort: number } = PORTS) =>
      packet({ from, to, protocol: 'UDP', ...ports });
    const back = { port: PORTS.sourcePort, sourcePort: PORTS.port };

    const odd = (
      family === 'ip'
        ? ['0.0.0.0', '255.255.255.255', '224.0.0.1', '239.1.2.3', '10.9.0.255']
        : ['::', 'ff02::1', 'ff02::1:2', 'ff05::1:3']
    ).map(text => address(text));
    const others = [...Object.values(ADDRESSES), GATEWAY, REMOTE]
      .map(each => each[family])
      .filter(each => each !== own);

    test('to each hardware address, in each protocol', async () => {
      const bytes: Uint8Array[] = [];
      for (const mac of macs())
        for (const to of [...others, ...odd])
          for (const from of [own, odd[0]!])
            for (const protocol of ['TCP', 'UDP', 'SCTP', 'ICMP', 2, 47, 253] as const) {
              const port = typeof protocol === 'number' || protocol === 'ICMP' ? {} : PORTS;
              const plain = packet({ from, to, protocol, ...port });
              bytes.push(etherFrame(mac, ownMac, plain));
            }
      await sendAll(ground, 'attacker', bytes);
      expect(await entries(ground)).toEqual([]);
    });

    test('what asks for an address as DHCP does, and is not it', async () => {
      const from = family === 'ip' ? NOBODY : ground.linkLocal('attacker');
      const wrong =
        family === 'ip'
          ? ([
              [NOBODY, 68, 67],
              [ADDRESSES.node.ip, 68, 67],
              [address('255.255.255.255'), 67, 67],
              [address('255.255.255.255'), 68, 68],
            ] as const)
          : ([
              [address('ff02::1:2'), 546, 547],
              [ADDRESSES.node.ip6, 546, 547],
            ] as const);
      const packets = wrong.map(([to, sourcePort, port]) => datagram(from, to, { port, sourcePort }));
      const frames = [BROADCAST, '33:33:00:01:00:02', gatewayMac(ground, 'attacker')].flatMap(mac =>
        packets.map(each => etherFrame(mac, ownMac, each)),
      );
      await sendAll(ground, 'attacker', frames);
      expect(await entries(ground)).toEqual([]);
    });

    describe.each(ACCOMPLICES)('%s', (_, host, at) => {
      test('answers what was denied, and is not heard, nor is the attacker from then on', async () => {
        const ask = datagram(own, at[family]);
        const answer = datagram(at[family], own, back);
        for (const mac of [...GROUPS, ground.mac('node', 'to-friend'), gatewayMac(ground, 'attacker')]) {
          expect(await arrives(ground, { from: 'attacker', to: host, packets: [ask], mac })).toBe(false);
          expect(await isHeardByAttacker(ground, host, answer), mac).toBe(false);
          for (const to of [
            gatewayMac(ground, 'attacker'),
            ...(host === 'victim' && network === 'bridge' ? [ground.mac('victim')] : []),
          ])
            expect(await arrives(ground, { from: 'attacker', to: host, packets: [ask], mac: to }), mac).toBe(
              false,
            );
        }
      });

      test('is told nothing by an error about what was denied', async () => {
        const ask = datagram(own, at[family]);
        const quoted = datagram(at[family], own, back);
        const plain = packet({ from: own, to: at[family], protocol: 'UDP', port: 1 });
        const kind = family === 'ip' ? [3, 3, 0, 0, 0, 0, 0, 0] : [1, 4, 0, 0, 0, 0, 0, 0];
        const error = withIcmp(plain, [...kind, ...quoted, ...Buffer.alloc(300, 'not for you')]);
        for (const mac of [...GROUPS, ground.mac('node', 'to-friend')]) {
          await arrives(ground, { from: 'attacker', to: host, packets: [ask], mac });
          expect(await arrives(ground, { from: 'attacker', to: host, packets: [error] }), mac).toBe(false);
        }
      });
    });

    test.each([...GROUPS, 'the gateway'])(`${ROOM} datagrams to %s`, async to => {
      const mac = to === 'the gateway' ? gatewayMac(ground, 'attacker') : to;
      const many = Array.from({ length: ROOM }, (_, at) =>
        etherFrame(
          mac,
          ownMac,
          datagram(own, ADDRESSES.outside[family], { port: 7, sourcePort: 1_000 + at }),
        ),
      );
      await sendAll(ground, 'attacker', many);
      expect(await entries(ground)).toEqual([]);
    });
  });

  test('datagrams of an ordinary socket to everybody', async () => {
    ground.exec('attacker', process.execPath, ['-e', TO_EVERYBODY]);
    await sendAll(ground, 'attacker', []);
    expect(await entries(ground)).toEqual([]);
  });

  test('from no address to none, which is its own way back', async () => {
    const pairs = Array.from({ length: 200 }, (_, at) => [1_000 + at, 3_000 + at] as const);
    const datagrams = pairs.flatMap(([port, sourcePort]) => [
      packet({ from: NOBODY, to: NOBODY, protocol: 'UDP', port, sourcePort }),
      packet({ from: NOBODY, to: NOBODY, protocol: 'UDP', port: sourcePort, sourcePort: port }),
    ]);
    const macs = [...GROUPS, gatewayMac(ground, 'attacker')];
    await sendAll(
      ground,
      'attacker',
      macs.flatMap(mac => datagrams.map(each => etherFrame(mac, ownMac, each))),
    );
    expect(await entries(ground)).toEqual([]);
  });

  // With promiscuous mode the bridge takes all frames of its ports: by tcpdump, or as kubenet had it.
  test('where all frames are listened to', async () => {
    const device = network === 'bridge' ? 'cni0' : 'to-attacker';
    ground.exec('node', 'ip', ['link', 'set', device, 'promisc', 'on']);
    try {
      const ends = [ADDRESSES.outside, ADDRESSES.victim, ADDRESSES.node, REMOTE];
      const datagrams = FAMILIES.flatMap(family =>
        ends.map(to =>
          packet({ from: ADDRESSES.attacker[family], to: to[family], protocol: 'UDP', ...PORTS }),
        ),
      );
      await sendAll(
        ground,
        'attacker',
        macs().flatMap(mac => datagrams.map(each => etherFrame(mac, ownMac, each))),
      );
      expect(await entries(ground)).toEqual([]);
    } finally {
      ground.exec('node', 'ip', ['link', 'set', device, 'promisc', 'off']);
    }
  });

  test('and what is allowed leaves one, which these tests see', async () => {
    const packets = [
      packet({ from: ADDRESSES.loose.ip, to: ADDRESSES.outside.ip, protocol: 'UDP', ...PORTS }),
    ];
    expect(await arrives(ground, { from: 'loose', to: 'outside', packets })).toBe(true);
    expect(await entries(ground)).toEqual([`${ADDRESSES.loose.ip} -> ${ADDRESSES.outside.ip} UDP 5000`]);
  });
});

/** 254 addresses of a pod’s own link would be asked for by ARP: to everybody no address is. */
const TO_EVERYBODY = `
const socket = require('node:dgram').createSocket('udp4');
socket.bind(0, async () => {
  socket.setBroadcast(true);
  const send = port => new Promise(resolve => socket.send('x', port, '255.255.255.255', resolve));
  for (let port = 1; port <= ${ROOM}; port++) await send(port);
  socket.close();
});`;

function etherFrame(to: string, from: string, payload: Uint8Array): Uint8Array {
  return frameBytes(
    { macTo: 0, macFrom: 0, types: [payload[0]! >> 4 === 4 ? 0x0800 : 0x86dd], packet: payload },
    to,
    from,
  );
}

/** Sends them, and waits until a datagram that was sent behind them is heard. */
async function sendAll(ground: Ground, from: Host, sent: readonly Uint8Array[]): Promise<void> {
  const socket = new FrameSocket(ground.path(from), ground.index(from), ground.mac(from));
  try {
    for (const each of sent) socket.sendRaw(each);
  } finally {
    socket.close();
  }
  // hears() sends one and waits for it.
  await hears(ground, { to: 'outside', family: 'ip', protocol: 17, matches: () => false }, () => {});
}

/** Whether an answer of the accomplice reaches the attacker, whom nobody may send to. */
async function isHeardByAttacker(
  ground: Ground,
  host: 'outside' | 'victim',
  answer: Uint8Array,
): Promise<boolean> {
  return arrives(ground, { from: host, to: 'attacker', packets: [answer] });
}

/** What conntrack knows of in the node, but for what the node sends itself, and the datagrams by which tests wait. */
async function entries(ground: Ground): Promise<string[]> {
  const conntrack = inNamespace(ground.path('node'), () => openConntrack());
  const found: Flow[] = [];
  try {
    await conntrack.read(
      'all',
      () => true,
      ({ flow }) => found.push(flow),
    );
  } finally {
    conntrack.close();
  }
  return found
    .filter(({ protocol, port, to }) => !(protocol === 'UDP' && port === 4_000) && to !== OF_NODE)
    .map(({ from, to, protocol, port = '' }) => `${from} -> ${to} ${protocol} ${port}`.trim());
}
