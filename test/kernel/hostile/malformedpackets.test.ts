/** Packets that no honest stack sends, and that passed no rule before either: they stay here so that none ever does. */
import { describe, expect, test } from 'vitest';
import { FAMILIES, type Family } from '../../../src/model/address.ts';
import { packet, TCP_FLAGS } from '../../../src/nft/trace/packet.ts';
import { arrives } from './attack.ts';
import {
  EXTENSION,
  fragmentsOf,
  protocolOf,
  transportOf,
  truncated,
  withExtensions,
  withIcmp,
  withOptions,
  withTransport,
} from './craft.ts';
import { enforcedGround } from './enforced.ts';
import { ADDRESSES, type Host, NETWORKS } from './ground.ts';

const { hopByHop, routing, fragment, ah, destination } = EXTENSION;
const { fin, syn, rst, psh, ack } = TCP_FLAGS;

interface Odd {
  readonly packets: readonly Uint8Array[];
  readonly heard?: Uint8Array;
  readonly protocol?: number;
}

type Ends = { readonly from: Host; readonly to: Host };
type Make = (family: Family, ends: Ends) => Odd;

const udp = (family: Family, { from, to }: Ends, port = 53) =>
  packet({ from: ADDRESSES[from][family], to: ADDRESSES[to][family], protocol: 'UDP', port });

/** A datagram that is long enough to be cut. */
function long(family: Family, ends: Ends): Uint8Array {
  const plain = udp(family, ends);
  const transport = Buffer.concat([transportOf(plain), Buffer.alloc(40, 7)]);
  transport.writeUInt16BE(transport.length, 4);
  transport.writeUInt16BE(0, 6);
  return withTransport(plain, transport);
}

const tcp =
  (tcpFlags: number): Make =>
  (family, { from, to }) => ({
    packets: [
      packet({
        from: ADDRESSES[from][family],
        to: ADDRESSES[to][family],
        protocol: 'TCP',
        port: 80,
        tcpFlags,
      }),
    ],
  });

const BOTH: readonly (readonly [string, Make])[] = [
  [
    'fragments',
    (family, ends) => ({
      packets: fragmentsOf(long(family, ends), 16),
      heard: transportOf(long(family, ends)),
      protocol: 17,
    }),
  ],
  [
    'fragments in the wrong order',
    (family, ends) => ({
      packets: fragmentsOf(long(family, ends), 24).toReversed(),
      heard: transportOf(long(family, ends)),
      protocol: 17,
    }),
  ],
  [
    'a fragment of eight bytes, and the rest',
    (family, ends) => ({
      packets: fragmentsOf(long(family, ends), 8),
      heard: transportOf(long(family, ends)),
      protocol: 17,
    }),
  ],
  [
    'a datagram without all of its header',
    (family, ends) => ({ packets: [truncated(udp(family, ends), 3)] }),
  ],
  ['a datagram without a header', (family, ends) => ({ packets: [truncated(udp(family, ends), 0)] })],
  [
    'a segment without its flags',
    (family, ends) => ({ packets: [truncated(tcp(syn)(family, ends).packets[0]!, 12)] }),
  ],
  ['port 0', (family, ends) => ({ packets: [udp(family, ends, 0)] })],
  ['no flags of TCP', tcp(0)],
  ['FIN alone', tcp(fin)],
  ['RST alone', tcp(rst)],
  ['ACK alone', tcp(ack)],
  ['PSH and ACK', tcp(psh | ack)],
  ['SYN and FIN', tcp(syn | fin)],
  ['SYN and ACK', tcp(syn | ack)],
  ['all flags of TCP', tcp(fin | syn | rst | psh | ack)],
  [
    'INIT of SCTP',
    (family, { from, to }) => ({
      packets: [
        packet({ from: ADDRESSES[from][family], to: ADDRESSES[to][family], protocol: 'SCTP', port: 80 }),
      ],
    }),
  ],
  [
    'an error about a connection that there is not',
    (family, ends) => ({ packets: [forgedError(family, ends)] }),
  ],
  [
    'an error that holds nothing',
    (family, ends) => ({
      packets: [withIcmp(udp(family, ends), [family === 'ip' ? 3 : 1, 3, 0, 0, 0, 0, 0, 0])],
    }),
  ],
];

/** Port unreachable, as if the listener had sent what the error holds. */
function forgedError(family: Family, { from, to }: Ends): Uint8Array {
  const inner = packet({
    from: ADDRESSES[to][family],
    to: ADDRESSES[from][family],
    protocol: 'UDP',
    port: 53,
  });
  return withIcmp(udp(family, { from, to }), [
    family === 'ip' ? 3 : 1,
    family === 'ip' ? 3 : 4,
    0,
    0,
    0,
    0,
    0,
    0,
    ...inner,
  ]);
}

const options =
  (...bytes: number[]): Make =>
  (family, ends) => ({ packets: [withOptions(udp(family, ends), bytes)] });
const extensions =
  (...kinds: number[]): Make =>
  (family, ends) => {
    const plain = udp(family, ends);
    return {
      packets: [withExtensions(plain, kinds)],
      heard: transportOf(plain),
      protocol: protocolOf(plain),
    };
  };

const OF_FAMILY: Record<Family, readonly (readonly [string, Make])[]> = {
  ip: [
    ['options that do nothing', options(1, 1, 1, 0)],
    ['a record of the route', options(7, 7, 4, 0, 0, 0, 0)],
    ['a time stamp', options(68, 8, 5, 0, 0, 0, 0, 0)],
    ['a loose source route', options(131, 7, 4, 172, 18, 9, 1)],
    ['a router alert', options(148, 4, 0, 0)],
  ],
  ip6: [
    ['hop-by-hop options', extensions(hopByHop)],
    ['options for the destination', extensions(destination)],
    ['a routing header', extensions(routing)],
    ['a fragment header of a whole packet', extensions(fragment)],
    ['an authentication header', extensions(ah)],
    ['all of them', extensions(hopByHop, destination, routing, fragment, destination)],
    ['eight lists of options', extensions(...Array(8).fill(destination))],
  ],
};

describe.each(NETWORKS)('%s', network => {
  const ground = enforcedGround({ network });

  describe.each(FAMILIES)('%s', family => {
    test.each([...BOTH, ...OF_FAMILY[family]])('%s', async (_, make) => {
      const ways = [
        { from: 'attacker', to: 'outside' },
        { from: 'attacker', to: 'node' },
        { from: 'loose', to: 'victim' },
        { from: 'outside', to: 'victim' },
      ] as const;
      for (const ends of ways) {
        const { packets, ...rest } = make(family, ends);
        expect(await arrives(ground, { ...ends, packets, ...rest }), `${ends.from} to ${ends.to}`).toBe(
          false,
        );
      }
    });
  });

  test('what these packets are made of arrives where it may', async () => {
    for (const family of FAMILIES) {
      const ends = { from: 'loose', to: 'outside' } as const;
      const arrived: string[] = [];
      for (const [name, make] of [...BOTH.slice(0, 3), ...OF_FAMILY[family]]) {
        const { packets, ...rest } = make(family, ends);
        if (await arrives(ground, { ...ends, packets, ...rest })) arrived.push(name);
      }
      expect(arrived).toEqual(expect.arrayContaining([...ARRIVE[family]]));
    }
  });
});

/** Without them, that the same packets are dropped elsewhere would prove nothing. */
const ARRIVE: Record<Family, readonly string[]> = {
  ip: ['fragments', 'fragments in the wrong order', 'options that do nothing', 'a record of the route'],
  ip6: ['fragments', 'fragments in the wrong order', 'hop-by-hop options', 'options for the destination'],
};
