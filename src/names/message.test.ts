/** Compares the parser of DNS answers with dns-packet, which shares no code with it, and feeds it hostile bytes. */
import packet, { type Answer, type Packet } from 'dns-packet';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../test/support/seed.ts';
import { readAnswer } from './message.ts';

type Record = { type: string; name: string; ttl?: number; data?: unknown; udpPayloadSize?: number };

function answer(name: string, answers: Record[], more: object = {}): Uint8Array {
  const type = name.startsWith('six.') ? 'AAAA' : 'A';
  const questions = [{ type, name, class: 'IN' }];
  return packet.encode({
    type: 'response',
    id: 7,
    flags: 0x180,
    questions,
    answers: answers as Answer[],
    ...more,
  } as Packet);
}

const a = (name: string, data: string, ttl = 60): Record => ({ type: 'A', name, ttl, data });
const cname = (name: string, data: string, ttl = 60): Record => ({ type: 'CNAME', name, ttl, data });
const read = (...args: Parameters<typeof answer>) => readAnswer(answer(...args));
const withTtl = (...addresses: string[]) => addresses.map(address => ({ address, ttlSeconds: 60 }));

describe('readAnswer()', () => {
  it('reads the addresses of the name in the question', () => {
    const found = read('www.example.org', [
      a('www.example.org', '192.0.2.1'),
      a('www.example.org', '192.0.2.2'),
    ]);
    expect(found).toEqual({ names: ['www.example.org'], addresses: withTtl('192.0.2.1', '192.0.2.2') });
  });

  it('reads IPv6 addresses, whatever the packet came by', () => {
    const aaaa = { type: 'AAAA', name: 'six.example.org', ttl: 60, data: '2001:db8::7' };
    expect(read('six.example.org', [aaaa])?.addresses).toEqual(withTtl('2001:db8::7'));
  });

  it('C42: follows aliases in any order and across zones, and gives the address to all names on the way', () => {
    const found = read('a.example', [
      a('c.example.net', '192.0.2.3', 500),
      cname('b.example.com', 'c.example.net', 20),
      cname('a.example', 'b.example.com', 300),
    ]);
    expect(found?.names).toEqual(['a.example', 'b.example.com', 'c.example.net']);
    expect(found?.addresses).toEqual([{ address: '192.0.2.3', ttlSeconds: 20 }]);
  });

  it('C42: takes no address that is off the way', () => {
    const answers = [a('www.example.org', '192.0.2.1'), a('bank.example', '192.0.2.66')];
    expect(read('www.example.org', answers)?.addresses).toEqual(withTtl('192.0.2.1'));
    expect(
      read('www.example.org', [cname('www.example.org', 'x.example'), a('www.example.org', '192.0.2.1')])
        ?.addresses,
    ).toEqual([]);
  });

  it('is not led in circles, nor further than 16 aliases', () => {
    expect(
      read('a.example', [cname('a.example', 'b.example'), cname('b.example', 'a.example')])?.addresses,
    ).toEqual([]);
    const chain = Array.from({ length: 20 }, (_, i) => cname(`n${i}.example`, `n${i + 1}.example`));
    expect(read('n0.example', [...chain, a('n20.example', '192.0.2.1')])?.addresses).toEqual([]);
    const short = chain.slice(0, 16);
    expect(read('n0.example', [...short, a('n16.example', '192.0.2.1')])?.addresses).toEqual(
      withTtl('192.0.2.1'),
    );
  });

  it('C38: reads names in lower case, as resolvers that mix cases ask (0x20)', () => {
    expect(read('wWw.ExAmPlE.oRg', [a('WwW.eXaMpLe.OrG', '192.0.2.1')])?.names).toEqual(['www.example.org']);
  });

  it('C38: reads nothing of a message with a dot within a label', () => {
    const bytes = answer('www-example.org', [a('www-example.org', '192.0.2.1')]);
    const dash = bytes.indexOf(0x2d);
    bytes[dash] = 0x2e;
    expect(readAnswer(bytes)).toBeUndefined();
  });

  it('C56: learns no address that is the node’s own business', () => {
    const never = [
      ...['0.0.0.0', '127.0.0.1', '169.254.169.254', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
      ...['168.63.129.16', '100.100.100.200', '192.0.0.192'],
    ];
    expect(
      read(
        'x.example',
        [...never, '10.0.0.1'].map(address => a('x.example', address)),
      )?.addresses,
    ).toEqual(withTtl('10.0.0.1'));
    const never6 = [
      '::',
      '::1',
      'fe80::1',
      'ff02::1',
      '::ffff:169.254.169.254',
      '::10.0.0.1',
      '64:ff9b::a9fe:a9fe',
      '64:ff9b::6464:64c8',
      'fd00:ec2::254',
      'fd20:ce::254',
    ];
    const aaaa = [...never6, 'fd00::1', '64:ff9b::c000:201'].map(data => ({
      type: 'AAAA',
      name: 'six.example',
      ttl: 60,
      data,
    }));
    expect(read('six.example', aaaa)?.addresses).toEqual(withTtl('fd00::1', '64:ff9b::c000:201'));
  });

  it('takes the complete records of a truncated message, and nothing of another that is cut', () => {
    const answers = [a('x.example', '192.0.2.1'), a('x.example', '192.0.2.2')];
    const cut = answer('x.example', answers, { flags: 0x380 }).subarray(0, -3);
    expect(readAnswer(cut)?.addresses).toEqual(withTtl('192.0.2.1'));
    expect(readAnswer(answer('x.example', answers).subarray(0, -3))).toBeUndefined();
  });

  it('ignores messages that are not an answer to one question for addresses', () => {
    expect(read('x.example', [], { type: 'query' })).toBeUndefined();
    expect(read('x.example', [a('x.example', '192.0.2.1')], { flags: 0x183 })).toBeUndefined(); // NXDOMAIN
    expect(read('x.example', [], { questions: [] })).toBeUndefined();
    const https = [{ type: 'MX', name: 'x.example', class: 'IN' }];
    expect(read('x.example', [a('x.example', '192.0.2.1')], { questions: https })).toBeUndefined();
  });

  it('reads EDNS, and addresses in the additional section never', () => {
    const additionals = [{ type: 'OPT', name: '.', udpPayloadSize: 4096 }, a('x.example', '192.0.2.66')];
    expect(read('x.example', [a('x.example', '192.0.2.1')], { additionals })?.addresses).toEqual(
      withTtl('192.0.2.1'),
    );
  });

  it('reads 512 records and no more', () => {
    const answers = Array.from({ length: 600 }, (_, i) => a('x.example', `10.0.${i >> 8}.${i & 255}`));
    expect(read('x.example', answers)?.addresses).toHaveLength(512);
  });

  /** An address whose owner name is a chain of this many pointers to the name of the question. */
  function ledOn(pointers: number): Uint8Array {
    const asked = Buffer.from(answer('x.example', []));
    asked.writeUInt16BE(2, 6);
    const pointer = (to: number) => Buffer.from([0xc0 | (to >> 8), to & 255]);
    const record = (owner: number, type: number, data: Buffer) =>
      Buffer.concat([pointer(owner), Buffer.from([0, type, 0, 1, 0, 0, 0, 60]), length16(data), data]);
    const length16 = ({ length }: Buffer) => Buffer.from([length >> 8, length & 255]);
    const chain = asked.length + 12;
    const links = Array.from({ length: pointers - 1 }, (_, i) => pointer(i === 0 ? 12 : chain + 2 * (i - 1)));
    const ignored = record(12, 99, Buffer.concat(links));
    const owner = pointers === 1 ? 12 : chain + 2 * (pointers - 2);
    return Buffer.concat([asked, ignored, record(owner, 1, Buffer.from([192, 0, 2, 1]))]);
  }

  it('follows as many pointers as a name can have, and no more', () => {
    expect(readAnswer(ledOn(1))?.addresses).toEqual(withTtl('192.0.2.1'));
    expect(readAnswer(ledOn(127))?.addresses).toEqual(withTtl('192.0.2.1'));
    expect(readAnswer(ledOn(128))).toBeUndefined();
    expect(readAnswer(ledOn(8_000))).toBeUndefined();
  });

  it('ends at a compression pointer to itself, ahead, and to another pointer', () => {
    for (const pointer of [
      [0xc0, 12],
      [0xc0, 14],
      [0xc0, 0xff],
      [0xff, 0xff],
    ]) {
      const bytes = Uint8Array.from([
        0,
        7,
        0x81,
        0x80,
        0,
        1,
        0,
        1,
        0,
        0,
        0,
        0,
        ...pointer,
        0xc0,
        12,
        0,
        1,
        0,
        1,
      ]);
      expect(readAnswer(bytes)).toBeUndefined();
    }
  });
});

const label = fc.stringMatching(/^[a-z0-9_-]{1,12}$/);
const name = fc.array(label, { minLength: 1, maxLength: 4 }).map(labels => labels.join('.'));
const record = fc.oneof(
  fc.tuple(name, fc.ipV4()).map(([owner, address]) => a(owner, address)),
  fc.tuple(name, name).map(([owner, target]) => cname(owner, target)),
  fc.tuple(name, fc.string()).map(([owner, text]): Record => ({ type: 'TXT', name: owner, data: text })),
);
const message = fc
  .tuple(name, fc.array(record, { maxLength: 12 }))
  .map(([asked, records]) => answer(asked, records));

/** The addresses that dns-packet reads; undefined if it does not read the message. */
function byLibrary(bytes: Uint8Array): string[] | undefined {
  try {
    return packet.decode(Buffer.from(bytes)).answers?.flatMap(each => (each.type === 'A' ? [each.data] : []));
  } catch {
    return undefined;
  }
}

describe('readAnswer(), beside another reader', () => {
  it('finds no address that dns-packet does not find', () => {
    fc.assert(
      fc.property(
        message,
        fc.array(fc.tuple(fc.nat(600), fc.nat(255)), { maxLength: 3 }),
        (bytes, changes) => {
          for (const [at, byte] of changes) if (at < bytes.length) bytes[at] = byte;
          const [ours, theirs] = [readAnswer(bytes), byLibrary(bytes)];
          if (ours === undefined || theirs === undefined) return;
          for (const { address } of ours.addresses) expect(theirs).toContain(address);
        },
      ),
      { numRuns: runs(3_000) },
    );
  });

  it('finds every address of the name in the question that dns-packet wrote', () => {
    fc.assert(
      fc.property(name, fc.array(fc.ipV4(), { minLength: 1, maxLength: 30 }), (asked, addresses) => {
        const own = addresses.map(address => address.replace(/^(0|127|169|2[2-5]\d)\./, '10.'));
        const found = readAnswer(
          answer(
            asked,
            own.map(address => a(asked, address)),
          ),
        );
        expect(found?.addresses.map(({ address }) => address)).toEqual(own);
      }),
      { numRuns: runs(500) },
    );
  });

  it('never throws, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), bytes => void readAnswer(bytes)),
      { numRuns: runs(3_000) },
    );
    fc.assert(
      fc.property(message, fc.nat(), fc.array(fc.tuple(fc.nat(), fc.nat(255))), (bytes, cut, changes) => {
        for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
        readAnswer(bytes.subarray(0, cut % (bytes.length + 1)));
      }),
      { numRuns: runs(3_000) },
    );
  });
});
