/** TCP connections that are never closed, and answers that are never read: what they cost other pods. */
import { expect, test } from 'vitest';
import type { Address } from '../model/address.ts';
import type { PodKey } from '../model/cluster.ts';
import { AnswerStreams, MOST_STREAM_BYTES, type TcpSegment } from './streams.ts';

const DNS = '10.96.0.10' as Address;
const POD = '10.1.0.1' as Address;

function segment(port: number, sequence: number, payload: Uint8Array, syn = false): TcpSegment {
  return { from: DNS, to: POD, sourcePort: 53, port, payload, tcp: { sequence, syn, ends: false } };
}

const begin = (streams: AnswerStreams, pod: PodKey, port: number) =>
  streams.take(pod, segment(port, 1, new Uint8Array(0), true));

/** The beginning of a message that announces 65,535 bytes. */
function long(length: number): Uint8Array {
  return new Uint8Array(length).fill(0xff);
}

const SHORT = Uint8Array.from([0, 3, 1, 2, 3]);

test('however many pods have ended without closing theirs, another’s is read', () => {
  const streams = new AnswerStreams();
  for (let i = 0; i < 2_000; i++) {
    begin(streams, `evil/${i}`, 7);
    streams.take(`evil/${i}`, segment(7, 2, long(1_000)));
    if (i % 100 === 0) streams.retainOnly(new Set<PodKey>([`evil/${i}`]));
  }
  expect(streams.size).toBeLessThan(200 * 1_000);
  streams.retainOnly(new Set());
  expect(streams.size).toBe(0);
  begin(streams, 'shop/web', 7);
  expect(streams.take('shop/web', segment(7, 2, SHORT))).toEqual([Uint8Array.from([1, 2, 3])]);
});

test('a namespace whose pods begin long answers and never take the rest loses its own, and no other', () => {
  const streams = new AnswerStreams();
  begin(streams, 'shop/web', 7);
  streams.take('shop/web', segment(7, 2, SHORT.subarray(0, 4)));
  for (let pod = 0; pod < 40; pod++)
    for (let port = 1; port <= 16; port++) {
      begin(streams, `evil/${pod}`, port);
      streams.take(`evil/${pod}`, segment(port, 2, long(60_000)));
    }
  expect(streams.size).toBeLessThanOrEqual(8 << 20);
  expect(streams.take('shop/web', segment(7, 6, SHORT.subarray(4)))).toHaveLength(1);
});

test('a message in segments of few bytes takes no more memory than twice what has come', () => {
  const streams = new AnswerStreams();
  begin(streams, 'shop/web', 7);
  const message = Uint8Array.from([0xea, 0x60, ...new Uint8Array(60_000).fill(7)]);
  const learnt: Uint8Array[] = [];
  for (let at = 0; at < message.length; at += 48) {
    const payload = message.subarray(at, at + 48);
    learnt.push(...streams.take('shop/web', segment(7, 2 + at, payload)));
    expect(streams.size).toBeLessThanOrEqual(Math.min(2 * (at + 48), MOST_STREAM_BYTES));
  }
  expect(learnt).toEqual([message.subarray(2)]);
  expect(streams.size).toBe(0);
});
