import { expect, test } from 'vitest';
import { addressBytes, parseAddress } from '../../../model/address.ts';
import { NFPROTO } from '../nftables/constants.ts';
import { AttributeWriter } from '../wire/attributes.ts';
import { beginMessage, endMessage, type Message, readMessages } from '../wire/messages.ts';
import { CT_MSG, CTA, CTA_IP, CTA_PROTO, CTA_TUPLE } from './ctnetlink.ts';
import { readNewConnection } from './newconnections.ts';

interface Tuple {
  readonly ends: readonly [string, string];
  readonly protocol: number;
  /** Attributes of the protocol, by their types, in hexadecimal. */
  readonly has?: Readonly<Record<number, string>>;
}

const hex = (bytes: Iterable<number>) => Buffer.from([...bytes]).toString('hex');
const ports = (from: string, to: string) => ({ [CTA_PROTO.SRC_PORT]: from, [CTA_PROTO.DST_PORT]: to });

function messageOf(original: Tuple, reply: Tuple, type: number = CT_MSG.NEW): Message {
  const to = new AttributeWriter();
  const start = beginMessage(to, type, 0, 0, NFPROTO.ip);
  for (const [id, { ends, protocol, has = {} }] of [
    [CTA.TUPLE_ORIG, original],
    [CTA.TUPLE_REPLY, reply],
  ] as const)
    to.nest(id, () => {
      const isV6 = ends[0].includes(':');
      to.nest(CTA_TUPLE.IP, () => {
        to.hex(isV6 ? CTA_IP.V6_SRC : CTA_IP.V4_SRC, hex(addressBytes(parseAddress(ends[0])!)));
        to.hex(isV6 ? CTA_IP.V6_DST : CTA_IP.V4_DST, hex(addressBytes(parseAddress(ends[1])!)));
      });
      to.nest(CTA_TUPLE.PROTO, () => {
        to.hex(CTA_PROTO.NUM, hex([protocol]));
        for (const [number, value] of Object.entries(has)) to.hex(Number(number), value);
      });
    });
  endMessage(to, start);
  return [...readMessages(Buffer.copyBytesFrom(to.buffer, 0, to.length), to.length)][0]!;
}

test('a connection that nobody translated', () => {
  const message = messageOf(
    { ends: ['10.0.0.1', '10.0.0.2'], protocol: 6, has: ports('0fa0', '0050') },
    { ends: ['10.0.0.2', '10.0.0.1'], protocol: 6, has: ports('0050', '0fa0') },
  );
  const flow = { from: '10.0.0.1', to: '10.0.0.2', protocol: 'TCP', port: 80 };
  expect(readNewConnection(message)).toEqual({ flow, sourcePort: 4000 });
});

test('what was dialled is kept where it was translated, be it to another port alone', () => {
  const opened = { ends: ['fd00::1', 'fd00:96::1'], protocol: 17, has: ports('0fa0', '0035') } as const;
  const answered = { ends: ['fd00::2', 'fd00::1'], protocol: 17, has: ports('14e9', '0fa0') } as const;
  const flow = { from: 'fd00::1', to: 'fd00::2', protocol: 'UDP', port: 5353, viaService: true };
  expect(readNewConnection(messageOf(opened, answered))).toEqual({
    flow,
    sourcePort: 4000,
    dialled: { address: 'fd00:96::1', port: 53 },
  });
  const same = { ...answered, ends: ['fd00:96::1', 'fd00::1'] } as const;
  expect(readNewConnection(messageOf(opened, same))).toMatchObject({
    dialled: { address: 'fd00:96::1', port: 53 },
    flow: { port: 5353 },
  });
});

test.each([
  [1, { 4: '0001', 5: '08', 6: '00' }, { type: 8, code: 0 }],
  [58, { 7: '0001', 8: '80', 9: '00' }, { type: 128, code: 0 }],
])('ICMP %i has a type and a code, and no port', (protocol, has, icmp) => {
  const message = messageOf(
    { ends: ['10.0.0.1', '10.0.0.2'], protocol, has },
    { ends: ['10.0.0.2', '10.0.0.1'], protocol, has },
  );
  expect(readNewConnection(message)).toEqual({
    flow: { from: '10.0.0.1', to: '10.0.0.2', protocol: 'ICMP' },
    icmp,
  });
});

test('any other message is no connection', () => {
  const tuple: Tuple = { ends: ['10.0.0.1', '10.0.0.2'], protocol: 47 };
  expect(readNewConnection(messageOf(tuple, tuple))).toMatchObject({ flow: { protocol: 47 } });
  expect(readNewConnection(messageOf(tuple, tuple, CT_MSG.DELETE))).toBeUndefined();
});
