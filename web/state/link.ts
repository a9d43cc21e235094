/**
 * The state of the page as the fragment of its address, which a browser sends to nobody: `#v=focus&at=…&z=…`. The texts of
 * manifests are deflated in `z`.
 */
import type { Files } from '../core/protocol.ts';
import { MOST_FILES } from './mostfiles.ts';

/** Longer links are cut by mail programs and refused by browsers. */
const LONGEST_LINK = 200_000;

/** Files as they were opened and, if they are edited, as they are. */
export interface LinkedFiles {
  readonly base: Files;
  readonly edited?: Files;
}

/** What a link has of manifests, but for Secrets: it is passed on. Nothing, where it would be too long. */
export async function linkPart(
  { base, edited }: LinkedFiles,
  withoutSecrets: (files: Files) => Promise<{ readonly verbatim: Files }>,
): Promise<string> {
  // The page must not write what it refuses to open.
  if (Math.max(base.length, edited?.length ?? 0) > MOST_FILES) return '';
  const bytes = bytesOf({
    base: (await withoutSecrets(base)).verbatim,
    ...(edited && { edited: (await withoutSecrets(edited)).verbatim }),
  });
  if (bytes.length > MOST_UNPACKED) return '';
  const text = await deflated(bytes);
  return text.length > LONGEST_LINK ? '' : `z=${text}`;
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

/** A link may come from anybody: what it unpacks to is bounded. Throws where it cannot be read. */
export async function unpacked(text: string): Promise<LinkedFiles> {
  if (text.length > LONGEST_LINK) throw new RangeError('it is longer than 200,000 characters');
  const { base, edited } = await inflated(text);
  if (!isFiles(base) || !(edited === undefined || isFiles(edited))) throw new Error('it has no manifests');
  if (Math.max(base.length, edited?.length ?? 0) > MOST_FILES)
    throw new Error(`it has more than ${MOST_FILES.toLocaleString('en')} files`);
  return { base, ...(edited && { edited }) };
}

async function inflated(text: string): Promise<Partial<LinkedFiles>> {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, character => character.charCodeAt(0));
    const json = new TextDecoder().decode(await piped(bytes, new DecompressionStream('deflate-raw')));
    return Object(JSON.parse(json));
  } catch (error) {
    if (error instanceof RangeError) throw error;
    throw new SyntaxError('it was cut off or changed on its way', { cause: error });
  }
}

function isFiles(value: unknown): value is Files {
  const isFile = (file: unknown) =>
    Array.isArray(file) && file.length === 2 && file.every(part => typeof part === 'string');
  return Array.isArray(value) && value.every(isFile);
}

/** Manifests of the longest link take some 4 MB; a bomb of the same length would take a thousand times its own. */
const MOST_UNPACKED = 8 * 1024 * 1024;

async function piped(bytes: Uint8Array<ArrayBuffer>, through: ReadableWritablePair): Promise<Uint8Array> {
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
