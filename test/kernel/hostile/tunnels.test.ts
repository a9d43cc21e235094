/** A node takes what is in a tunnel for another node's word: pods reach no tunnel's end (N72). */
import { beforeAll, describe, expect, test } from 'vitest';
import { address } from '../../../bench/lab/topology.ts';
import { FAMILIES } from '../../../src/model/address.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { arrives } from './attack.ts';
import { transportOf, withTransport } from './craft.ts';
import { enforcedGround } from './enforced.ts';
import { macBytes } from './frame.ts';
import { ADDRESSES, GATEWAY, NETWORKS, OTHER_NODE } from './ground.ts';

const PORTS = [4789, 8472, 6081, 6080, 5555, 8285];
const PROTOCOLS = [4, 41, 47];

describe.each(NETWORKS)('%s', network => {
  const ground = enforcedGround({ network });

  beforeAll(() => {
    for (const family of FAMILIES) // Where the other node would be.
      ground.exec('outside', 'ip', [
        'address',
        'add',
        `${OTHER_NODE[family]}/${family === 'ip' ? 32 : 128}`,
        'dev',
        'wire',
      ]);
  });

  describe.each(FAMILIES)('%s', family => {
    const ends = [
      ['node', ADDRESSES.node[family]],
      ['node', GATEWAY[family]],
      ['outside', OTHER_NODE[family]],
    ] as const;
    const from = ADDRESSES.loose[family];

    test.each(PORTS)('UDP port %i of a node is not for pods', async port => {
      for (const [to, at] of ends) {
        const packets = [packet({ from, to: at, protocol: 'UDP', port })];
        expect(await arrives(ground, { from: 'loose', to, packets }), at).toBe(false);
      }
    });

    test.each(PROTOCOLS)('protocol %i to a node is not for pods', async protocol => {
      for (const [to, at] of ends) {
        const packets = [packet({ from, to: at, protocol })];
        expect(await arrives(ground, { from: 'loose', to, packets }), at).toBe(false);
      }
    });

    test('nodes speak to one another through tunnels, and pods to anybody else', async () => {
      for (const port of PORTS) {
        const between = {
          from: OTHER_NODE[family],
          to: ADDRESSES.node[family],
          protocol: 'UDP',
          port,
        } as const;
        expect(await arrives(ground, { from: 'outside', to: 'node', packets: [packet(between)] })).toBe(true);
        const abroad = { from, to: ADDRESSES.outside[family], protocol: 'UDP', port } as const;
        expect(await arrives(ground, { from: 'loose', to: 'outside', packets: [packet(abroad)] })).toBe(true);
      }
      const resolve = { from, to: ADDRESSES.node[family], protocol: 'UDP', port: 53 } as const;
      expect(await arrives(ground, { from: 'loose', to: 'node', packets: [packet(resolve)] })).toBe(true);
    });
  });

  test('a packet inside of VXLAN does not come out of the tunnel', async () => {
    const device = [
      'link',
      'add',
      'flannel.1',
      'address',
      '0a:00:00:00:00:01',
      'type',
      'vxlan',
      'id',
      '1',
      'dstport',
      '8472',
      'nolearning',
    ];
    ground.exec('node', 'ip', device);
    ground.exec('node', 'ip', ['link', 'set', 'flannel.1', 'up']);
    ground.exec('node', 'ip', ['route', 'add', '10.9.1.0/24', 'dev', 'flannel.1']);
    const inner = packet({ from: address('10.9.1.7'), to: ADDRESSES.friend.ip, protocol: 'UDP', port: 53 });
    const frame = Buffer.concat([
      Buffer.from([...macBytes('0a:00:00:00:00:01'), ...macBytes('0a:00:00:00:00:02'), 8, 0]),
      inner,
    ]);
    const vxlan = Buffer.concat([Buffer.from([8, 0, 0, 0, 0, 0, 1, 0]), frame]);
    const tunnelled = (from: 'loose' | 'outside') => {
      const source = from === 'loose' ? ADDRESSES.loose.ip : OTHER_NODE.ip;
      const outer = packet({ from: source, to: ADDRESSES.node.ip, protocol: 'UDP', port: 8472 });
      const header = Buffer.from(transportOf(outer)).fill(0, 6, 8); // No checksum, as tunnels do.
      header.writeUInt16BE(8 + vxlan.length, 4);
      const packets = [withTransport(outer, Buffer.concat([header, vxlan]))];
      return { from, to: 'friend', packets, heard: transportOf(inner) } as const;
    };
    expect(await arrives(ground, tunnelled('loose'))).toBe(false);
    expect(await arrives(ground, tunnelled('outside')), 'from a node').toBe(true);
  });
});
