/**
 * What pods can make of the rules that accept before policy is asked (N69): packets are made from the list of these rules, those
 * that match an entry and those that miss it by one field, and each is followed by what a reply to it would be. Heard is
 * what matches an entry, and nothing else; and a packet that does not match leaves no entry in conntrack, by which its
 * reply would be `established`.
 */
import { describe, expect, test } from 'vitest';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { address } from '../../../bench/lab/topology.ts';
import { EXEMPTIONS, type Exemption, type ExemptPacket } from '../../../src/compiler/beforepolicy.ts';
import { openConntrack } from '../../../src/kernel/netlink/conntrack/conntrack.ts';
import {
  type Address,
  type Cidr,
  cidrContains,
  FAMILIES,
  type Family,
  familyOf,
} from '../../../src/model/address.ts';
import type { Flow } from '../../../src/model/flow.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { CONTROL_PORT, control, gatewayMac } from './attack.ts';
import { transportOf, withHops, withIcmp, withTransport } from './craft.ts';
import { Ear } from './ear.ts';
import { enforcedGround } from './enforced.ts';
import { FrameSocket } from './frame.ts';
import { ADDRESSES, GATEWAY, type Host, NETWORKS } from './ground.ts';

/** A packet by the fields that entries ask for. */
interface Sent {
  readonly from: Address;
  readonly to: Address;
  readonly hops: number;
  readonly content:
    | { readonly protocol: 'udp'; readonly sourcePort: number; readonly port: number }
    | { readonly protocol: 'icmpv6'; readonly type: number };
}

const entries = (family: Family): readonly ExemptPacket[] =>
  Object.values<Exemption>(EXEMPTIONS)
    .filter(({ families }) => families.includes(family))
    .flatMap(({ matches }) => matches.filter(match => match.kind === 'packet'));

function fits(family: Family, { from, to, hops, content }: Sent): boolean {
  const isIn = (network: Cidr | undefined, one: Address) =>
    network === undefined || cidrContains(network, one);
  return entries(family).some(entry => {
    if (!isIn(entry.from, from) || !isIn(entry.to, to)) return false;
    if (entry.hops !== undefined && entry.hops !== hops) return false;
    const { carries } = entry;
    if (carries.protocol === 'udp')
      return (
        content.protocol === 'udp' &&
        content.port === carries.port &&
        content.sourcePort === carries.sourcePort
      );
    const [first, last] = carries.types;
    return content.protocol === 'icmpv6' && first <= content.type && content.type <= last;
  });
}

const HOSTS: readonly Host[] = ['victim', 'friend', 'loose', 'node', 'outside'];
const SENDER: Host = 'attacker';
const ODD: Record<Family, readonly Address[]> = {
  ip: ['0.0.0.0', '255.255.255.255', '10.9.0.255', '224.0.0.1', '127.0.0.1'].map(text => address(text)),
  ip6: ['::', '::1', 'ff02::1', 'ff02::16', 'fe80::1'].map(text => address(text)),
};
const PORTS = [67, 68, 53, 5353];
const OTHER_HOPS = [1, 64, 255];
const OTHER_TYPES = [1, 128, 129, 130, 131, 135, 136, 138, 143];

/** Those that match the entry, from and to whatever it allows, and those that miss it by one field. */
function packetsOf(family: Family, entry: ExemptPacket): Sent[] {
  const all = [...ODD[family], GATEWAY[family], ...[SENDER, ...HOSTS].map(host => ADDRESSES[host][family])];
  const within = (network: Cidr | undefined) =>
    all.filter(one => network === undefined || cidrContains(network, one));
  const { carries } = entry;
  const content: Sent['content'][] =
    carries.protocol === 'udp' ? [carries] : carries.types.map(type => ({ protocol: 'icmpv6', type }));
  const others: Sent['content'][] =
    carries.protocol === 'udp'
      ? PORTS.flatMap(port => PORTS.map(sourcePort => ({ protocol: 'udp' as const, sourcePort, port })))
      : OTHER_TYPES.map(type => ({ protocol: 'icmpv6' as const, type }));
  const hops = entry.hops ?? 64;
  const ends = within(entry.from).flatMap(from => within(entry.to).map(to => ({ from, to })));
  return [
    ...ends.flatMap(two => content.map(one => ({ ...two, hops, content: one }))),
    ...all.flatMap(from => within(entry.to).map(to => ({ from, to, hops, content: content[0]! }))),
    ...within(entry.from).flatMap(from => all.map(to => ({ from, to, hops, content: content[0]! }))),
    ...ends.slice(0, 1).flatMap(two => others.map(one => ({ ...two, hops, content: one }))),
    ...within(entry.from).flatMap(from =>
      within(undefined).map(to => ({ from, to, hops, content: others.at(-1)! })),
    ),
    ...ends
      .slice(0, 1)
      .flatMap(two => OTHER_HOPS.map(left => ({ ...two, hops: left, content: content[0]! }))),
  ];
}

function replyTo({ from, to, hops, content }: Sent): Sent {
  const { protocol } = content;
  return {
    from: to,
    to: from,
    hops,
    content: protocol === 'udp' ? { protocol, sourcePort: content.port, port: content.sourcePort } : content,
  };
}

function bytesOf({ from, to, hops, content }: Sent, mark: string): Uint8Array {
  if (content.protocol === 'icmpv6') {
    const message = [content.type, 0, 0, 0, 0, 0, 0, 0, ...Buffer.from(mark)];
    return withHops(withIcmp(packet({ from, to, protocol: 58 }), message), hops);
  }
  const { port, sourcePort } = content;
  const plain = packet({ from, to, protocol: 'UDP', port, sourcePort });
  const transport = Buffer.concat([transportOf(plain), Buffer.from(mark)]);
  transport.writeUInt16BE(transport.length, 4);
  transport.writeUInt16BE(0, 6);
  return withHops(withTransport(plain, transport), hops);
}

const MARKED = /forged (\d+)\./;
const EVERYBODY = { ip: 'ff:ff:ff:ff:ff:ff', ip6: '33:33:00:00:00:01' } as const;

describe.each(NETWORKS)('%s', network => {
  const ground = enforcedGround({ network });
  describe.each(FAMILIES)('%s', family => {
    const sequences = () =>
      entries(family)
        .flatMap(entry => packetsOf(family, entry))
        .flatMap(first => [first, replyTo(first)]);

    /** The packets of which somebody hears, by who does. */
    const heardOf = async (sent: readonly Sent[], mac: string): Promise<Map<Host, Set<number>>> => {
      const protocol = family === 'ip' ? 17 : 58;
      const ears = HOSTS.flatMap(host =>
        [17, protocol].map(each => ({ host, ear: new Ear(ground.path(host), family, each) })),
      );
      const socket = new FrameSocket(ground.path(SENDER), ground.index(SENDER), ground.mac(SENDER));
      try {
        sent.forEach((each, at) => {
          socket.send(bytesOf(each, `forged ${at}.`), mac);
        });
        for (const host of HOSTS) await control(ground, host, family);
        const heard = new Map<Host, Set<number>>();
        for (const { host, ear } of ears)
          for (const { payload } of ear.heard()) {
            const found = MARKED.exec(payload.toString('latin1'));
            if (found !== null) heard.set(host, (heard.get(host) ?? new Set()).add(Number(found[1])));
          }
        return heard;
      } finally {
        socket.close();
        for (const { ear } of ears) ear.close();
      }
    };

    const ways = () => [
      gatewayMac(ground, SENDER),
      EVERYBODY[family],
      ...(network === 'bridge' ? [ground.mac('victim')] : []),
    ];

    test('is heard if it matches an entry, and else not, nor is what a reply to it would be', async () => {
      const sent = sequences();
      let exempted = 0;
      for (const mac of ways())
        for (const [host, numbers] of await heardOf(sent, mac))
          for (const number of numbers) {
            expect(fits(family, sent[number]!), `${host} by ${mac}: ${JSON.stringify(sent[number])}`).toBe(
              true,
            );
            exempted++;
          }
      expect(exempted).toBeGreaterThan(0);
    });

    test('leaves no entry in conntrack if it matches no entry of the list', async () => {
      const sent = sequences().filter(each => !fits(family, each));
      for (const mac of ways()) await heardOf(sent, mac);
      const conntrack = inNamespace(ground.path('node'), () => openConntrack());
      const left: string[] = [];
      try {
        const isDhcp = ({ from }: Flow) => from === ODD.ip[0];
        // To 224.0.0.22 the node itself reports its groups (RFC 3376).
        const isOfFamily = ({ from, to, port }: Flow) =>
          familyOf(from) === family && to !== '224.0.0.22' && port !== CONTROL_PORT;
        await conntrack.read('all', isOfFamily, ({ flow, sourcePort }) => {
          if (!isDhcp(flow) || sourcePort !== 68 || flow.port !== 67)
            left.push(JSON.stringify({ ...flow, sourcePort }));
        });
      } finally {
        conntrack.close();
      }
      expect(left).toEqual([]);
    });
  });
});
