/** Whether connection tracking, which checks all checksums, takes our packets for what they are. */
import { expect, it } from 'vitest';
import { type Address, type Family, parseAddress } from '../../src/model/address.ts';
import type { FlowProtocol } from '../../src/model/flow.ts';
import { packet } from '../../src/nft/trace/packet.ts';
import { Netns } from './netns.ts';
import { RawSocket } from './raw-socket.ts';

/** Out by one end, without tracking, and in by the other. */
const WIRE = `ip link add out address 02:00:00:00:00:01 type veth peer name in address 02:00:00:00:00:02
ip link set out up && ip link set in up && ip address add 10.9.0.1/24 dev out
ip -6 address add fd09::1/64 dev out nodad
ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev out && ip neigh add fd09::2 lladdr 02:00:00:00:00:02 dev out`;

const TABLE = `table inet wire {
  counter new { }
  counter invalid { }
  chain out { type filter hook output priority raw; policy accept; notrack; }
  chain in { type filter hook prerouting priority filter; policy accept; iifname != "in" return; meta l4proto ipv6-icmp icmpv6 type != echo-request return; ct state new counter name new; ct state invalid counter name invalid; }
}`;

const ENDS: Readonly<Record<Family, { from: Address; to: Address }>> = {
  ip: { from: parseAddress('10.9.0.1')!, to: parseAddress('10.9.0.2')! },
  ip6: { from: parseAddress('fd09::1')!, to: parseAddress('fd09::2')! },
};

const CASES = (['ip', 'ip6'] as const).flatMap(family =>
  (['TCP', 'UDP', 'SCTP', 'ICMP', 47] as const).map((protocol): [Family, FlowProtocol] => [family, protocol]),
);

it.each(CASES)('the kernel accepts the checksums of %s %s, and no other', (family, protocol) => {
  const bytes = packet({ ...ENDS[family], protocol, port: 80 });
  expect(tracked(family, bytes)).toEqual({ new: 1, invalid: 0 });
  if (protocol === 47) return; // nothing to check
  bytes[bytes.length - 1]! ^= 1;
  expect(tracked(family, bytes)).toEqual({ new: 0, invalid: 1 });
});

function tracked(family: Family, bytes: Uint8Array): Record<'new' | 'invalid', number> {
  const netns = new Netns();
  try {
    netns.exec('sh', ['-ec', WIRE]);
    netns.exec('nft', ['-f', '-'], TABLE);
    const socket = netns.run(() => new RawSocket(family));
    expect(socket.send(bytes, ENDS[family].to)).toBe('accept');
    socket.close();
    return { new: packetsOf(netns, 'new'), invalid: packetsOf(netns, 'invalid') };
  } finally {
    netns.close();
  }
}

function packetsOf(netns: Netns, counter: string): number {
  const listing = netns.exec('nft', ['list', 'counter', 'inet', 'wire', counter]);
  return Number(/packets (\d+)/.exec(listing)![1]);
}
