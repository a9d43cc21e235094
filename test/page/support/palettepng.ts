/**
 * A picture of a screen with at most 256 colours: a third of the bytes. Letters are drawn in thousands of shades, of which
 * nobody sees a difference to the nearest common one.
 */
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const MOST_COLOURS = 256;

/** Takes what Chromium makes: 8 bits each of red, green and blue, not interlaced. */
export function withPalette(png: Buffer): Buffer {
  const { header, data } = chunksOf(png);
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  if (header.toString('hex', 8) !== '0802000000') throw new Error('this is not a picture of 8-bit RGB');
  const pixels = unfiltered(inflateSync(data), width * 3, height);
  const counts = new Map<number, number>();
  for (let at = 0; at < pixels.length; at += 3) {
    const colour = pixels.readUIntBE(at, 3);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = [...counts].sort(([a, m], [b, n]) => n - m || a - b).slice(0, MOST_COLOURS);
  const colours = palette.map(([colour]) => colour);
  const places = new Map([...counts.keys()].map(colour => [colour, nearest(colour, colours)]));
  const lines = Buffer.alloc((width + 1) * height);
  for (let i = 0; i < width * height; i++)
    lines[i + 1 + Math.floor(i / width)] = places.get(pixels.readUIntBE(i * 3, 3))!;
  const table = Buffer.alloc(colours.length * 3);
  for (const [i, colour] of colours.entries()) table.writeUIntBE(colour, i * 3, 3);
  const size = Buffer.concat([header.subarray(0, 8), Buffer.from('0803000000', 'hex')]);
  const all = [chunk('IHDR', size), chunk('PLTE', table), chunk('IDAT', deflateSync(lines, { level: 9 }))];
  return Buffer.concat([SIGNATURE, ...all, chunk('IEND', Buffer.alloc(0))]);
}

function chunksOf(png: Buffer): { readonly header: Buffer; readonly data: Buffer } {
  const parts: Buffer[] = [];
  let header = Buffer.alloc(0);
  for (let at = SIGNATURE.length; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const [type, body] = [
      png.toString('latin1', at + 4, at + 8),
      png.subarray(at + 8, at + 8 + png.readUInt32BE(at)),
    ];
    if (type === 'IHDR') header = Buffer.from(body);
    if (type === 'IDAT') parts.push(body);
  }
  return { header, data: Buffer.concat(parts) };
}

function chunk(type: string, body: Buffer): Buffer {
  const [named, ends] = [Buffer.concat([Buffer.from(type, 'latin1'), body]), Buffer.alloc(8)];
  ends.writeUInt32BE(body.length, 0);
  ends.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([ends.subarray(0, 4), named, ends.subarray(4)]);
}

const PIXEL = 3;

/** Each line begins with the number of its filter (PNG 1.2, section 6). */
function unfiltered(raw: Buffer, stride: number, height: number): Buffer {
  const out = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)]!;
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x;
      const left = x >= PIXEL ? out[at - PIXEL]! : 0;
      const up = y > 0 ? out[at - stride]! : 0;
      const corner = x >= PIXEL && y > 0 ? out[at - stride - PIXEL]! : 0;
      out[at] = raw[at + y + 1]! + [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter]!;
    }
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const [a, b, c] = [left, up, corner].map(each => Math.abs(left + up - corner - each)) as [
    number,
    number,
    number,
  ];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

function nearest(colour: number, colours: readonly number[]): number {
  let [best, least] = [0, Number.POSITIVE_INFINITY];
  for (const [i, each] of colours.entries()) {
    const distance = [16, 8, 0].reduce(
      (sum, bits) => sum + (((colour >> bits) & 255) - ((each >> bits) & 255)) ** 2,
      0,
    );
    if (distance < least) [best, least] = [i, distance];
  }
  return best;
}
