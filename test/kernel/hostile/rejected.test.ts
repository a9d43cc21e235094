/**
 * kube-proxy rejects what goes to a Service without endpoints, at priority -110 of forward and input, with an error that
 * quotes the packet and goes to whoever the packet says that it is from. Who sends is asked before that, so that no pod
 * has the node carry its data to anybody (N70).
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { address } from '../../../bench/lab/topology.ts';
import { FAMILIES, type Family } from '../../../src/model/address.ts';
import { ICMP_OF, PROTOCOL_NUMBER } from '../../../src/model/ipprotocol.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { gatewayMac, hears } from './attack.ts';
import { transportOf, withTransport } from './craft.ts';
import { enforcedGround } from './enforced.ts';
import { FrameSocket } from './frame.ts';
import { sendAsAnother } from './freebind.ts';
import { ADDRESSES, type Host, NETWORKS } from './ground.ts';

const SERVICE = { ip: address('10.96.0.1'), ip6: address('fd96::1') };
const PORT = 81;
const DATA = 'what a denied pod has to say';

/** The base chains of kube-proxy's nftables mode; in its iptables mode they are at priority 0. */
const proxy = (priority: number) =>
  FAMILIES.map(
    family => `table ${family} kube-proxy {
      chain service-endpoints-check { ${family} daddr ${SERVICE[family]} reject; }
      chain filter-input { type filter hook input priority ${priority}; ct state new jump service-endpoints-check; }
      chain filter-forward { type filter hook forward priority ${priority}; ct state new jump service-endpoints-check; }
    }`,
  ).join('\n');

const SENT_BY: readonly Host[] = ['attacker', 'loose'];

describe.each(NETWORKS)('%s', network => {
  const ground = enforcedGround({ network });
  // The kernel sends a destination one such error in a second: those of one test would be missing in the next.
  beforeAll(() => {
    ground.exec('node', 'sysctl', ['-qw', 'net.ipv4.icmp_ratelimit=0', 'net.ipv6.icmp.ratelimit=0']);
  });

  /** Whether a host is sent an error that quotes what `act` sends to the Service. */
  const isToldOf = (host: Host, family: Family, act: () => void) =>
    hears(
      ground,
      {
        to: host,
        family,
        protocol: PROTOCOL_NUMBER[ICMP_OF[family]],
        matches: ({ payload }) => payload.includes(DATA),
      },
      act,
    );

  const send = (sender: Host, claimed: Host, family: Family) => {
    const plain = packet({
      from: ADDRESSES[claimed][family],
      to: SERVICE[family],
      protocol: 'UDP',
      port: PORT,
    });
    const transport = Buffer.concat([transportOf(plain), Buffer.from(DATA)]);
    transport.writeUInt16BE(transport.length, 4);
    transport.writeUInt16BE(0, 6);
    const socket = new FrameSocket(ground.path(sender), ground.index(sender), ground.mac(sender));
    socket.send(withTransport(plain, transport), gatewayMac(ground, sender));
    socket.close();
  };

  describe.each([-110, 0])('rejected at priority %i', priority => {
    const proxied = async (act: () => Promise<void>) => {
      ground.exec('node', 'nft', ['-f', '-'], proxy(priority));
      try {
        await act();
      } finally {
        ground.exec(
          'node',
          'nft',
          ['-f', '-'],
          FAMILIES.map(each => `delete table ${each} kube-proxy`).join('\n'),
        );
      }
    };

    test.each(FAMILIES)('%s: nobody is told of what a pod sends in his name', family =>
      proxied(async () => {
        for (const sender of SENT_BY)
          for (const host of ['outside', 'victim', 'friend'] as const)
            expect(
              await isToldOf(host, family, () => send(sender, host, family)),
              `${sender} as ${host}`,
            ).toBe(false);
      }),
    );

    test('nobody is told of what a process without capabilities sends in his name', () =>
      proxied(async () => {
        const act = () =>
          sendAsAnother(ground.path('attacker'), ADDRESSES.victim.ip6, SERVICE.ip6, PORT, DATA);
        expect(await isToldOf('victim', 'ip6', act)).toBe(false);
      }));

    test.each(FAMILIES)('%s: a pod that may send hears that the Service has no endpoints', family =>
      proxied(async () => {
        expect(await isToldOf('loose', family, () => send('loose', 'loose', family))).toBe(true);
      }),
    );
  });
});
