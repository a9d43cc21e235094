/**
 * The state of the page is the fragment of its address, which a browser sends to nobody: `#v=focus&at=…&z=…`. The texts of
 * manifests are deflated in `z`, by core/pack.ts.
 */
import { LONGEST_LINK, piped } from '../core/pack.ts';
import type { Files, LinkedFiles } from '../core/protocol.ts';
import { MOST_FILES } from './mostfiles.ts';

/** A link may come from anybody: what it unpacks to is bounded. Throws where it cannot be read. */
export async function unpacked(text: string): Promise<LinkedFiles> {
  if (text.length > LONGEST_LINK) throw new RangeError('it is longer than 200,000 characters');
  const { base, edited } = await inflated(text);
  if (!isFiles(base) || !(edited === undefined || isFiles(edited))) throw new Error('it has no manifests');
  if (Math.max(base.length, edited?.length ?? 0) > MOST_FILES)
    throw new Error(`it has more than ${MOST_FILES.toLocaleString('en')} files`);
  for (const files of [base, edited ?? []])
    if (new Set(files.map(([name]) => name)).size < files.length)
      throw new Error('it has two files with the same name');
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
