import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sandbox } from '../../../test/support/pods/fakeruntime.ts';
import { runs } from '../../../test/support/seed.ts';
import { decode, EVENT, encode } from './messages.ts';
import { encodeFrames, FrameReader, LONGEST_FRAME, WireError } from './multiplex.ts';
import { encodeMessage, MessageReader, REQUEST, RESPONSE, type TtrpcMessage } from './peer.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** The bytes in pieces of these lengths, over and over, as a socket brings them. */
function pieces(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const cut: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += cut.at(-1)!.length) {
    cut.push(bytes.subarray(at, at + lengths[cut.length % lengths.length]!));
  }
  return cut;
}

const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 });

const message = fc.record({
  stream: fc.nat(),
  type: fc.constantFrom(REQUEST, RESPONSE),
  data: fc.uint8Array({ maxLength: 60 }).map(bytes => Buffer.from(bytes)),
});

test('a registration is the bytes that NRI reads', () => {
  const request = encode('RegisterPluginRequest', { pluginName: 'sluice', pluginIdx: '90' });
  expect(request).toEqual(hex('0a06 736c75696365 1202 3930'));
  const bytes = encodeFrames(2, encodeMessage({ stream: 1, type: REQUEST, data: request }));
  expect(bytes).toEqual(hex('00000002 00000016 0000000c 00000001 01 00 0a06 736c75696365 1202 3930'));
});

test('a sandbox is read by the published field numbers, and fields that we do not need are skipped', () => {
  const pod = hex(
    '0a02 6964 1203 776562 1a01 75 2204 73686f70 2a08 0a03 617070 1201 77 3a04 72756e63 4807 5208 31302e302e302e31',
  );
  const event = Buffer.concat([hex('0801 12'), Buffer.from([pod.length]), pod, hex('1a02 0a00')]);
  expect(decode('StateChangeEvent', event)).toEqual({
    event: EVENT.runPodSandbox,
    pod: {
      id: 'id',
      name: 'web',
      uid: 'u',
      namespace: 'shop',
      labels: { app: 'w' },
      linux: null,
      pid: 7,
      ips: ['10.0.0.1'],
    },
  });
});

test('messages come out as they went in, whatever the pieces and the frames that carry them', () => {
  const all = fc.array(message, { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(all, lengths, lengths, (messages, borders, cuts) => {
      const frames = pieces(Buffer.concat(messages.map(encodeMessage)), borders);
      const trunk = Buffer.concat(
        frames.flatMap(frame => [encodeFrames(1, frame), encodeFrames(7, Buffer.from('x'))]),
      );
      const [outer, inner] = [new FrameReader(), new MessageReader()];
      const got: TtrpcMessage[] = [];
      for (const piece of pieces(trunk, cuts)) {
        for (const { connection, payload } of outer.read(piece)) {
          if (connection === 1) got.push(...inner.read(payload));
        }
      }
      expect(got).toEqual(messages);
    }),
  );
});

test('a long message is sent in frames that the other end has room for', () => {
  const data = Buffer.alloc(10_000, 7);
  const frames = new FrameReader().read(encodeFrames(1, encodeMessage({ stream: 3, type: RESPONSE, data })));
  expect(Math.max(...frames.map(({ payload }) => payload.length))).toBe(4096);
  expect(new MessageReader().read(Buffer.concat(frames.map(({ payload }) => payload)))).toEqual([
    { stream: 3, type: RESPONSE, data },
  ]);
});

test.each([
  [
    'a frame longer than any',
    () => new FrameReader().read(hex(`00000001 ${(LONGEST_FRAME + 1).toString(16).padStart(8, '0')}`)),
  ],
  ['a message longer than any', () => new MessageReader().read(hex('00400001 00000001 01 00'))],
  ['a message of an unknown type', () => new MessageReader().read(hex('00000000 00000001 04 00'))],
  [
    'streamed data, which no call of ours has',
    () => new MessageReader().read(hex('00000000 00000001 03 00')),
  ],
  ['a protobuf message that breaks off', () => decode('StateChangeEvent', hex('0801 12ff'))],
])('%s is refused by name', (_what, read) => {
  expect(read).toThrow(WireError);
});

test('any bytes are read, or refused as a WireError', () => {
  const read = (bytes: Uint8Array) => {
    const buffer = Buffer.from(bytes);
    new FrameReader().read(buffer);
    new MessageReader().read(buffer);
    decode('Request', bytes);
    decode('SynchronizeRequest', bytes);
    decode('StateChangeEvent', bytes);
  };
  let refused = 0;
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), bytes => {
      try {
        read(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(WireError);
        refused++;
      }
    }),
    { numRuns: runs(2_000) },
  );
  expect(refused).toBeGreaterThan(runs(500));
});

test.each([
  ['SynchronizeRequest', [0x0a, 0x00]], // pods without anything
  ['SynchronizeRequest', [0x12, 0x00]], // containers
  ['StateChangeEvent', [0x12, 0x02, 0x2a, 0x00]], // labels of one pod after the other
] as const)(
  'the longest %s of the shortest fields, case %#, is refused and no memory taken',
  (name, field) => {
    const bytes = Buffer.alloc(4 << 20, Buffer.from(field));
    expect(() => decode(name, bytes)).toThrow(/more than 200000 fields/);
  },
);

test('as many sandboxes as any node has are read', () => {
  const pod = sandbox('shop/web', ['10.0.0.1', 'fd00::1'], { labels: { app: 'web', tier: 'front' } });
  const pods = Array.from({ length: 5_000 }, (_, i) => ({ ...pod, id: `sandbox-${i}` }));
  expect(decode('SynchronizeRequest', encode('SynchronizeRequest', { pods })).pods).toHaveLength(5_000);
});

test('what breaks off is waited for', () => {
  const bytes = encodeFrames(1, encodeMessage({ stream: 1, type: REQUEST, data: Buffer.from('abc') }));
  for (let length = 0; length < bytes.length; length++) {
    expect(new FrameReader().read(bytes.subarray(0, length))).toEqual([]);
  }
});
