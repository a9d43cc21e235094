/**
 * ICMP errors of pods (N74). conntrack calls an error related to a connection by what the error quotes, whoever sends
 * it: a pod may quote a packet of its neighbour's connection, and put what it likes behind it.
 */
import { describe, expect, test } from 'vitest';
import {
  AF_INET,
  AF_INET6,
  bind,
  close,
  connect,
  SOCK_DGRAM,
  send,
  socket,
  socketError,
} from '../../../bench/lab/libc.ts';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { socketAddress } from '../../../bench/lab/probe/sockaddr.ts';
import { address } from '../../../bench/lab/topology.ts';
import { type Address, FAMILIES, type Family } from '../../../src/model/address.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { type Attack, arrives } from './attack.ts';
import { withIcmp } from './craft.ts';
import { enforcedGround } from './enforced.ts';
import { ADDRESSES, type Host, NETWORKS } from './ground.ts';

const PORTS = { port: 5000, sourcePort: 6000 } as const;
const ROUTER = { ip: address('203.0.113.9'), ip6: address('2001:db8::9') };
const ELSEWHERE = { ip: address('198.51.100.7'), ip6: address('2001:db8:7::7') };
/** Type and code, and what is in the second word. */
const ERRORS: Record<Family, readonly (readonly [string, readonly number[]])[]> = {
  ip: [
    ['port unreachable', [3, 3, 0, 0, 0, 0, 0, 0]],
    ['a redirect', [5, 1, 0, 0, 10, 9, 0, 11]],
    ['a parameter problem', [12, 0, 0, 0, 0, 0, 0, 0]],
  ],
  ip6: [
    ['port unreachable', [1, 4, 0, 0, 0, 0, 0, 0]],
    ['time exceeded', [3, 0, 0, 0, 0, 0, 0, 0]],
    ['an error of no known type', [100, 0, 0, 0, 0, 0, 0, 0]],
  ],
};
const MTU = 1300;
const TOO_BIG = { ip: [3, 4, 0, 0, 0, 0, MTU >> 8, MTU & 255], ip6: [2, 0, 0, 0, 0, 0, MTU >> 8, MTU & 255] };

describe.each(NETWORKS)('%s', network => {
  const ground = enforcedGround({ network });

  /** On a bridge pods may be sent to by the bridge, too. */
  const waysTo = (host: Host): Pick<Attack, 'mac'>[] =>
    network === 'bridge' && host in { victim: 1, friend: 1, loose: 1 }
      ? [{}, { mac: ground.mac(host) }]
      : [{}];

  describe.each(FAMILIES)('%s', family => {
    const at = (host: Host) => ADDRESSES[host][family];
    const datagram = (from: Address, to: Address) => packet({ from, to, protocol: 'UDP', ...PORTS });
    const answer = (from: Address, to: Address) =>
      packet({ from, to, protocol: 'UDP', port: PORTS.sourcePort, sourcePort: PORTS.port });

    /** One packet of a connection, which the node knows from then on. */
    const open = async (from: Host, to: Host) => {
      if (from === 'node') return close(connected(from, to));
      const packets = [datagram(at(from), at(to))];
      expect(await arrives(ground, { from, to, packets }), `${from} to ${to}`).toBe(true);
    };

    const bound = (host: Host, port: number) => {
      const domain = family === 'ip' ? AF_INET : AF_INET6;
      const fd = inNamespace(ground.path(host), () => socket(domain, SOCK_DGRAM));
      bind(fd, socketAddress(at(host), port));
      return fd;
    };

    const connected = (from: Host, to: Host) => {
      const fd = bound(from, PORTS.sourcePort);
      connect(fd, socketAddress(at(to), PORTS.port));
      send(fd, Buffer.from('the first'));
      return fd;
    };

    /** About `quoted`, with 1,000 bytes more behind it. */
    const error = (kind: readonly number[], from: Address, to: Address, quoted: Uint8Array) => {
      const plain = packet({ from, to, protocol: 'UDP', port: 1 });
      return withIcmp(plain, [...kind, ...quoted, ...Buffer.alloc(1_000, 'not for you')]);
    };
    const unreachable = ERRORS[family][0]![1];

    describe.each(ERRORS[family])('%s', (_, kind) => {
      const about = (from: Address, to: Host, quoted: Uint8Array) => [error(kind, from, at(to), quoted)];

      test('about a neighbour’s connection carries nothing out of a pod that may send nothing', async () => {
        await open('loose', 'outside');
        const toServer = about(at('attacker'), 'outside', answer(at('outside'), at('loose')));
        expect(await arrives(ground, { from: 'attacker', to: 'outside', packets: toServer })).toBe(false);
        const toClient = about(at('attacker'), 'loose', datagram(at('loose'), at('outside')));
        for (const way of waysTo('loose'))
          expect(await arrives(ground, { from: 'attacker', to: 'loose', packets: toClient, ...way })).toBe(
            false,
          );
      });

      test('about its connection carries nothing into a pod that may not be sent to', async () => {
        await open('friend', 'victim');
        const packets = about(at('loose'), 'victim', answer(at('victim'), at('friend')));
        for (const way of waysTo('victim'))
          expect(await arrives(ground, { from: 'loose', to: 'victim', packets, ...way })).toBe(false);
      });

      test('about a connection of its node does not come to the node', async () => {
        await open('node', 'outside');
        const packets = about(at('loose'), 'node', datagram(at('node'), at('outside')));
        expect(await arrives(ground, { from: 'loose', to: 'node', packets })).toBe(false);
      });

      test('about a connection that other nodes may know leaves no pod', async () => {
        const packets = about(at('loose'), 'outside', datagram(at('outside'), ELSEWHERE[family]));
        expect(await arrives(ground, { from: 'loose', to: 'outside', packets })).toBe(false);
      });

      test('as a neighbour about its connection reaches nobody', async () => {
        await open('loose', 'outside');
        const packets = about(at('loose'), 'outside', answer(at('outside'), at('loose')));
        expect(await arrives(ground, { from: 'attacker', to: 'outside', packets })).toBe(false);
        expect(await arrives(ground, { from: 'loose', to: 'outside', packets }), 'the neighbour').toBe(true);
      });

      test('as a pod of this node from elsewhere reaches nobody', async () => {
        await open('friend', 'victim');
        const packets = about(at('friend'), 'victim', answer(at('victim'), at('friend')));
        expect(await arrives(ground, { from: 'outside', to: 'victim', packets })).toBe(false);
        for (const way of waysTo('victim'))
          expect(await arrives(ground, { from: 'friend', to: 'victim', packets, ...way }), 'itself').toBe(
            true,
          );
      });

      test('of a pod about its own connection arrives, at either end', async () => {
        await open('loose', 'outside');
        const toServer = about(at('loose'), 'outside', answer(at('outside'), at('loose')));
        expect(await arrives(ground, { from: 'loose', to: 'outside', packets: toServer })).toBe(true);
        await open('loose', 'friend');
        const toClient = about(at('friend'), 'loose', datagram(at('loose'), at('friend')));
        for (const way of waysTo('loose'))
          expect(await arrives(ground, { from: 'friend', to: 'loose', packets: toClient, ...way })).toBe(
            true,
          );
      });

      test('of a router outside about a connection of a pod arrives', async () => {
        await open('loose', 'outside');
        const packets = about(ROUTER[family], 'loose', datagram(at('loose'), at('outside')));
        expect(await arrives(ground, { from: 'outside', to: 'loose', packets })).toBe(true);
      });
    });

    test('a pod neither narrows its neighbour’s path nor ends what it has begun, and a router does', async () => {
      const server = bound('outside', PORTS.port); // Else it would say itself that nobody listens.
      const fd = connected('loose', 'outside');
      const path = () => ground.exec('loose', 'ip', ['route', 'get', at('outside')]);
      const quoted = datagram(at('loose'), at('outside'));
      const tell = async (from: Host, source: Address, way: Pick<Attack, 'mac'> = {}) => {
        for (const kind of [TOO_BIG[family], unreachable])
          await arrives(ground, {
            from,
            to: 'loose',
            packets: [error(kind, source, at('loose'), quoted)],
            ...way,
          });
      };
      try {
        for (const way of waysTo('loose'))
          for (const source of [at('attacker'), at('outside'), ROUTER[family]])
            await tell('attacker', source, way);
        expect(path()).not.toContain('mtu');
        expect(socketError(fd)).toBeUndefined();
        await tell('outside', ROUTER[family]);
        expect(path()).toContain(`mtu ${MTU}`);
        expect(socketError(fd)).toBe('ECONNREFUSED');
      } finally {
        close(fd);
        close(server);
      }
    });

    test('an error that is cut off before it says what it is about reaches nobody', async () => {
      const plain = packet({ from: at('loose'), to: at('outside'), protocol: 'UDP', port: 1 });
      for (const quoted of [[], [...answer(at('outside'), at('loose')).subarray(0, 16)]]) {
        const packets = [withIcmp(plain, [...unreachable, ...quoted])];
        expect(await arrives(ground, { from: 'loose', to: 'outside', packets })).toBe(false);
      }
    });
  });
});
