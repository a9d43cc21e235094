/**
 * What a node says of packets is said to whoever they say that they are from, before any rule has seen some of them: no
 * pod has its node carry what it may not send (N70).
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { type Address, FAMILIES, type Family } from '../../../src/model/address.ts';
import { ICMP_OF, PROTOCOL_NUMBER } from '../../../src/model/ipprotocol.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { until } from '../../support/until.ts';
import { hears } from './attack.ts';
import {
  EXTENSION,
  fragmentsOf,
  isV4,
  lengthened,
  transportOf,
  withHops,
  withOptions,
  withTransport,
} from './craft.ts';
import { enforcedGround } from './enforced.ts';
import { FrameSocket } from './frame.ts';
import { ADDRESSES, GATEWAY, type GroundOptions, type Host } from './ground.ts';

const NETWORKS: readonly (readonly [string, GroundOptions])[] = [
  ['a bridge', { network: 'bridge' }],
  ['links of others', { network: 'ptp' }],
  ['links of our own', { network: 'ptp', podLinks: 'ours' }],
];
const MTU = 1400;

type Make = (from: Address, family: Family) => readonly Uint8Array[];

const datagram = (from: Address, to: Address) => packet({ from, to, protocol: 'UDP', port: 4444 });
const toFriend: Make = (from, family) => [datagram(from, ADDRESSES.friend[family])];
const withLastHop: Make = (from, family) => toFriend(from, family).map(each => withHops(each, 1));
/** Whose kind says that whoever does not know it drops the packet and says so; of IPv4, cut off. */
const withBadOption: Make = (from, family) =>
  toFriend(from, family).map(each =>
    family === 'ip'
      ? withOptions(each, [7, 3, 1])
      : withTransport(
          each,
          Buffer.concat([Buffer.from([17, 0, 0x9e, 4, 1, 2, 3, 4]), transportOf(each)]),
          EXTENSION.hopByHop,
        ),
  );
const firstPiece: Make = (from, family) =>
  fragmentsOf(lengthened(datagram(from, GATEWAY[family])), 16).slice(0, 1);

describe.each(NETWORKS)('%s', (_, options) => {
  const ground = enforcedGround(options);

  beforeAll(() => {
    for (const setting of SETTINGS)
      ground.exec('node', 'sh', ['-c', `echo ${setting[1]} > /proc/sys/net/${setting[0]}`]);
  });

  /** How often the node's kernel has waited for pieces in vain. */
  const piecesGivenUp = (family: Family): number => {
    const [file, row] = family === 'ip' ? ['snmp', 'Ip:'] : ['snmp6', 'Ip6ReasmTimeout'];
    const rows = ground
      .exec('node', 'cat', [`/proc/net/${file}`])
      .split('\n')
      .map(line => line.split(/\s+/));
    const [first, second] = rows.filter(([name]) => name === row);
    return Number(family === 'ip' ? second![first!.indexOf('ReasmTimeout')] : first![1]);
  };

  const sent = (host: 'attacker' | 'loose', packets: readonly Uint8Array[]) => {
    const socket = new FrameSocket(ground.path(host), ground.index(host), ground.mac(host));
    for (const each of packets) socket.send(each, ground.mac('node', ground.port(host)));
    socket.close();
  };

  // What leaves the node by links of our own is translated, and no longer what was sent.
  const hosts: readonly Host[] = options.podLinks === 'ours' ? ['victim', 'friend'] : ['outside', 'victim'];

  /** An error that quotes a packet of this sender's. */
  const told = (host: Host, from: Address, act: () => void | Promise<void>) => {
    const family: Family = isV4(datagram(from, from)) ? 'ip' : 'ip6';
    const place = family === 'ip' ? [20, 24] : [16, 32];
    const quoted = datagram(from, from).subarray(...(family === 'ip' ? [12, 16] : [8, 24]));
    return hears(
      ground,
      {
        to: host,
        family,
        protocol: PROTOCOL_NUMBER[ICMP_OF[family]],
        matches: ({ payload }) =>
          Buffer.from(quoted).equals(payload.subarray(...(place as [number, number]))),
      },
      act,
    );
  };

  describe.each(FAMILIES)('%s', family => {
    test.each([
      ['whose hops end', withLastHop],
      ['with a bad option', withBadOption],
    ])('a packet %s has the node say nothing to whom it says that it is from', async (_, make) => {
      for (const host of hosts) {
        const from = ADDRESSES[host][family];
        expect(await told(host, from, () => sent('attacker', make(from, family))), host).toBe(false);
      }
    });

    test('a pod hears that its packets are too big', async () => {
      ground.exec('node', 'ip', ['link', 'set', 'eth0', 'mtu', `${MTU}`]);
      const from = ADDRESSES.loose[family];
      const plain = datagram(from, ADDRESSES.outside[family]);
      const big = withTransport(plain, Buffer.concat([transportOf(plain), Buffer.alloc(MTU)]));
      expect(await told('loose', from, () => sent('loose', [big]))).toBe(true);
    });
  });

  test('a piece whose others do not come has the node say nothing to whom it says that it is from', async () => {
    const [host] = hosts;
    const before = { ip: piecesGivenUp('ip'), ip6: piecesGivenUp('ip6') };
    const givenUp = async (family: Family) => {
      await until('the end of the pieces', () => piecesGivenUp(family) > before[family]);
    };
    // An honest one behind it is waited for as long, also where the other is dropped before.
    for (const family of FAMILIES)
      for (const from of [host!, 'attacker'] as const)
        sent('attacker', firstPiece(ADDRESSES[from][family], family));
    const silent = FAMILIES.map(family => told(host!, ADDRESSES[host!][family], () => givenUp(family)));
    expect(await Promise.all(silent)).toEqual([false, false]);
  });
});

const SETTINGS = [
  ['ipv4/icmp_ratelimit', 0],
  ['ipv6/icmp/ratelimit', 0],
  ['ipv4/ipfrag_time', 1],
  ['ipv6/ip6frag_time', 1],
  ['netfilter/nf_conntrack_frag6_timeout', 1],
] as const;
