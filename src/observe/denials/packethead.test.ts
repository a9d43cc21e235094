import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../test/support/seed.ts';
import { type Address, parseAddress } from '../../model/address.ts';
import { packet } from '../../nft/trace/packet.ts';
import { readHead } from './packethead.ts';

const at = (text: string) => parseAddress(text) as Address;
const ENDS = { ip: [at('10.0.0.1'), at('10.0.0.2')], ip6: [at('fd00::1'), at('fd00::2')] } as const;

function bytesOf(family: 'ip' | 'ip6', protocol: 'TCP' | 'UDP' | 'SCTP' | 'ICMP'): Uint8Array {
  const [from, to] = ENDS[family];
  const ports = protocol === 'ICMP' ? {} : { port: 80, sourcePort: 4321 };
  return packet({ from, to, protocol, ...ports });
}

for (const family of ['ip', 'ip6'] as const) {
  const [from, to] = ENDS[family];
  test.each(['TCP', 'UDP', 'SCTP'] as const)(
    `readHead() has the ends and ports of %s over ${family}`,
    protocol => {
      expect(readHead(bytesOf(family, protocol))).toMatchObject({
        from,
        to,
        protocol,
        port: 80,
        sourcePort: 4321,
      });
    },
  );

  test(`readHead() has the type of ICMP over ${family}, and no port`, () => {
    const head = readHead(bytesOf(family, 'ICMP'))!;
    expect(head).toMatchObject({ protocol: 'ICMP', icmp: { type: family === 'ip' ? 8 : 128, code: 0 } });
    expect(head.port).toBeUndefined();
  });
}

test('readHead() tells a SYN from what is sent later, and one attempt from another', () => {
  expect(readHead(bytesOf('ip', 'TCP'))!.tcp).toEqual({ flags: 2, sequence: 1 });
});

test('readHead() tells what opens an association of SCTP from what is sent later', () => {
  expect(readHead(bytesOf('ip6', 'SCTP'))!.sctp).toEqual({ chunk: 1 });
});

test('readHead() finds the ports behind extension headers of IPv6', () => {
  const plain = bytesOf('ip6', 'UDP');
  const options = [NEXT.destinationOptions, 0, 0, 0, 0, 0, 0, 0];
  const last = [17, 1, ...Array(14).fill(0)];
  const bytes = Uint8Array.from([...plain.subarray(0, 40), ...options, ...last, ...plain.subarray(40)]);
  bytes[6] = NEXT.hopByHop;
  expect(readHead(bytes)).toMatchObject({ protocol: 'UDP', port: 80 });
});

test('readHead() takes no extension header of IPv6 for a protocol: of a packet with more than were copied nobody knows it', () => {
  const plain = bytesOf('ip6', 'TCP');
  const options = [NEXT.destinationOptions, 0, 0, 0, 0, 0, 0, 0];
  const long = (count: number) => {
    const headers = Array.from({ length: count }, () => options).flat();
    headers[headers.length - 8] = 6;
    const bytes = Uint8Array.from([...plain.subarray(0, 40), ...headers, ...plain.subarray(40)]);
    bytes[6] = NEXT.destinationOptions;
    return readHead(bytes.subarray(0, 128))!;
  };
  expect(long(10)).toMatchObject({ protocol: 'TCP', port: 80 });
  expect(long(10).cut).toBeUndefined();
  expect(long(12)).toMatchObject({ cut: true });
  expect(long(12).port).toBeUndefined();
});

const NEXT = { hopByHop: 0, fragment: 44, destinationOptions: 60 } as const;

test('readHead() takes no bytes of a later fragment for ports', () => {
  const later = bytesOf('ip', 'UDP').slice();
  later[7] = 100;
  expect(readHead(later)).toEqual({ from: ENDS.ip[0], to: ENDS.ip[1], protocol: 'UDP', fragment: 'later' });
  const plain = bytesOf('ip6', 'UDP');
  const bytes = Uint8Array.from([...plain.subarray(0, 40), 17, 0, 1, 0, 0, 0, 0, 1, ...plain.subarray(40)]);
  bytes[6] = NEXT.fragment;
  expect(readHead(bytes)).toEqual({ from: ENDS.ip6[0], to: ENDS.ip6[1], protocol: 'UDP', fragment: 'later' });
});

test('readHead() reads the ports of a first fragment, and takes none for one that is whole', () => {
  const first = bytesOf('ip', 'UDP').slice();
  first[6] = 0x20;
  const whole = readHead(bytesOf('ip', 'UDP'));
  expect(readHead(first)).toEqual({ ...whole, fragment: 'first' });
  const plain = bytesOf('ip6', 'UDP');
  const with6 = (more: number) => {
    const header = [17, 0, 0, more, 0, 0, 0, 1];
    const bytes = Uint8Array.from([...plain.subarray(0, 40), ...header, ...plain.subarray(40)]);
    bytes[6] = NEXT.fragment;
    return readHead(bytes);
  };
  expect(with6(1)).toEqual({ ...readHead(plain), fragment: 'first' });
  expect(with6(0)).toEqual(readHead(plain));
});

test('readHead() says which packet an ICMP error is about, and looks no deeper', () => {
  const [from, to] = ENDS.ip;
  const about = packet({ from: to, to: from, protocol: 'TCP', port: 80, sourcePort: 9 });
  const error = (inner: Uint8Array) => {
    const outer = bytesOf('ip', 'ICMP').slice(0, 28);
    outer.set([3, 1], 20);
    return Uint8Array.from([...outer, ...inner]);
  };
  expect(readHead(error(about))!.icmp).toMatchObject({
    type: 3,
    code: 1,
    about: { from: to, to: from, port: 80 },
  });
  expect(readHead(error(error(about)))!.icmp!.about!.icmp!.about).toBeUndefined();
});

test('readHead() reads whatever hosts send, cut off anywhere', () => {
  const some = fc.oneof(
    fc.uint8Array({ maxLength: 128 }),
    fc
      .tuple(
        fc.constantFrom('ip' as const, 'ip6' as const),
        fc.constantFrom('TCP' as const, 'UDP' as const, 'SCTP' as const, 'ICMP' as const),
        fc.nat(128),
        fc.array(fc.tuple(fc.nat(60), fc.nat(255)), { maxLength: 4 }),
      )
      .map(([family, protocol, length, changes]) => {
        const bytes = bytesOf(family, protocol).slice(0, length);
        for (const [index, value] of changes) if (index < bytes.length) bytes[index] = value;
        return bytes;
      }),
  );
  fc.assert(
    fc.property(some, bytes => {
      const head = readHead(bytes);
      if (head === undefined) return;
      expect(parseAddress(head.from)).toBe(head.from);
      expect(head.port ?? 0).toBeLessThan(65_536);
    }),
    { numRuns: runs(2_000) },
  );
});
