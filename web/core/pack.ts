/** Manifests as a text for a link. The worker makes it: of many it takes longer than a frame. */
import type { LinkedFiles } from './protocol.ts';

/** Longer links are cut by mail programs and refused by browsers. */
export const LONGEST_LINK = 200_000;
/** Manifests of the longest link take some 4 MB; a bomb of the same length would take a thousand times its own. */
const MOST_UNPACKED = 8 * 1024 * 1024;

/** Nothing, where it would be too long: the page must not write what it refuses to open. */
export async function linkText(files: LinkedFiles): Promise<string> {
  const bytes = bytesOf(files);
  if (bytes.length > MOST_UNPACKED) return '';
  const text = await deflated(bytes);
  return text.length > LONGEST_LINK ? '' : text;
}

export function packed(files: LinkedFiles): Promise<string> {
  return deflated(bytesOf(files));
}

function bytesOf(files: LinkedFiles) {
  return new TextEncoder().encode(JSON.stringify(files));
}

async function deflated(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const short = await piped(bytes, new CompressionStream('deflate-raw'));
  let binary = '';
  for (const byte of short) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Throws where it gets too large. */
export async function piped(
  bytes: Uint8Array<ArrayBuffer>,
  through: ReadableWritablePair,
): Promise<Uint8Array> {
  const reader = (new Blob([bytes]).stream().pipeThrough(through) as ReadableStream<Uint8Array>).getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    size += part.value.length;
    if (size > MOST_UNPACKED) throw new RangeError('it unpacks to more than 8 MB');
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
