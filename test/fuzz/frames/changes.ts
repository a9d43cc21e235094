/** What is done to a whole packet before it is sent: pieces of it, options, extension headers. Change 0 is none. */
import type { Family } from '../../../src/model/address.ts';
import {
  changedByReassembly,
  EXTENSION,
  hiddenInPieces,
  isV4,
  protocolOf,
  transportOf,
  withExtensions,
  withOptions,
  withTransport,
} from '../../kernel/hostile/craft.ts';

export interface Change {
  readonly name: string;
  make(packet: Uint8Array, tag: number): Uint8Array[];
}

/** Of what is behind the header: from, to, and whether there are more, in bytes; undefined is its end. */
type Piece = readonly [from: number, to: number | undefined, more: boolean];

const NONE: Change = { name: '', make: packet => [packet] };
const WRONG_OPTION = Buffer.from([17, 0, 0x9e, 4, 1, 2, 3, 4]);

const pieces = (name: string, ...cut: readonly Piece[]): Change => ({
  name,
  make: (packet, tag) => cut.map(piece => pieceOf(packet, piece, tag)),
});
const IN_PIECES: readonly Change[] = [
  pieces('in two pieces', [0, 16, true], [16, undefined, false]),
  pieces('in pieces, the last first', [8, undefined, false], [0, 8, true]),
  pieces('the first piece alone', [0, 16, true]),
  pieces('a later piece alone', [16, undefined, false]),
  pieces('in pieces that overlap', [0, 24, true], [8, undefined, false]),
  pieces('in one piece', [0, undefined, false]),
];

const options = (name: string, ...bytes: readonly number[]): Change => ({
  name,
  make: packet => [withOptions(packet, bytes)],
});
const extensions = (...kinds: readonly number[]): Change => ({
  name: `with extensions ${kinds.join(', ')}`,
  make: packet => [withExtensions(packet, kinds)],
});

const CHANGES: Readonly<Record<Family, readonly Change[]>> = {
  ip: [
    NONE,
    ...IN_PIECES,
    options('with a record of the route', 7, 7, 4, 0, 0, 0, 0),
    options('with a loose source route', 131, 7, 4, 10, 244, 1, 12),
    options('with a strict source route', 137, 7, 4, 10, 244, 1, 12),
    options('with a router alert', 148, 4, 0, 0),
    options('with a time stamp', 68, 8, 5, 0, 0, 0, 0, 0),
    options('with CIPSO', 134, 6, 0, 0, 0, 1),
    options('with an option of a wrong length', 68, 3, 1),
  ],
  ip6: [
    NONE,
    ...IN_PIECES,
    { name: 'hidden in pieces', make: (packet, tag) => hiddenInPieces(packet, tag) },
    { name: 'changed by reassembly', make: packet => changedByReassembly(packet, packet, 0x11) },
    {
      name: 'with a wrong option',
      make: packet => [withTransport(packet, Buffer.concat([WRONG_OPTION, transportOf(packet)]), 0)],
    },
    ...[[0], [60], [43], [44], [44, 44], [51], [60, 44, 60], [0, 60, 43, 44, 60]].map(kinds =>
      extensions(...kinds),
    ),
  ],
};

export function changesOf(family: Family): readonly Change[] {
  return CHANGES[family];
}

function pieceOf(packet: Uint8Array, [from, to, more]: Piece, tag: number): Uint8Array {
  const whole = transportOf(packet);
  const bytes = whole.subarray(from, to);
  if (!isV4(packet)) {
    const header = Buffer.from([protocolOf(packet), 0, 0, 0, 0, 0, 0, 0]);
    header.writeUInt16BE(from | (more ? 1 : 0), 2);
    header.writeUInt32BE(tag, 4);
    return withTransport(packet, Buffer.concat([header, bytes]), EXTENSION.fragment);
  }
  // The checksum is made anew with the length.
  const marked = Buffer.from(packet);
  marked.writeUInt16BE((from >> 3) | (more ? 0x2000 : 0), 6);
  return withTransport(marked, bytes);
}
