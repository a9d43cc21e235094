/** Names of kernel objects: a hash of the object's definition, and a readable path. */
import { hash } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'; // Crockford's base 32: no I, L, O, U
/**
 * 130 bits. Somebody who may write policies may search for two definitions with the same name, so that they share an
 * object. With 40 bits a search takes seconds; with 130 bits it takes 2^65 tries.
 */
const DIGITS = 26;
const READABLE_LENGTH = 72;

/**
 * `prefix-HASH` or `prefix-HASH-readable`: equal definitions have equal names, and different ones have different names.
 */
export function hashedName(prefix: string, definition: string, readable = ''): string {
  return join(prefix, hashText(definition), readable);
}

function join(prefix: string, hash: string, readable: string): string {
  return readable === '' ? `${prefix}-${hash}` : `${prefix}-${hash}-${identifier(readable)}`;
}

/** nft's identifiers hold letters, digits, and `/ \ _ . -`. */
function identifier(text: string): string {
  return text.replace(/[^A-Za-z0-9/._-]/g, '_').slice(0, READABLE_LENGTH);
}

/** SHA-256 in base 32, as much of it as a name holds. */
function hashText(text: string): string {
  const bytes = hash('sha256', text, 'buffer');
  let digits = '';
  let bits = 0;
  for (let i = 0, have = 0; digits.length < DIGITS; have -= 5) {
    if (have < 5) {
      bits = ((bits << 8) | bytes[i++]!) & 0xffff;
      have += 8;
    }
    digits += ALPHABET[(bits >> (have - 5)) & 31];
  }
  return digits;
}

/** The kernel takes a comment of 128 bytes. */
export const COMMENT_BYTES = 120;

/** `shop/web ingress[0], shop/api ingress[1] and 7 more`: as many as fit into a comment of the kernel. */
export function commentOf(sources: readonly string[]): string {
  return commentOfFirst([...new Set(sources)]);
}

/**
 * A comment, as `commentOf` makes it, for sources that are all different. `sources` are the first of `all`, and as many
 * as may fit.
 */
export function commentOfFirst(sources: readonly string[], all = sources.length): string {
  const room = COMMENT_BYTES - ` and ${all} more`.length;
  let text = sources[0] ?? '';
  let shown = 1;
  while (shown < sources.length && text.length + sources[shown]!.length + 2 <= room)
    text += `, ${sources[shown++]}`;
  return shown < all ? `${clipSource(text, room)} and ${all - shown} more` : clipSource(text);
}

/** `shop/web ingress[0] dns`: a name that is too long is cut, but never the rule's path, which gives the direction. */
function clipSource(source: string, bytes = COMMENT_BYTES): string {
  if (source.length <= bytes) return clip(source);
  const [, name = source, path = ''] = SOURCE.exec(source) ?? [];
  return clip(`${name.slice(0, bytes - path.length)}${source.slice(name.length)}`, bytes);
}

/** Matches a source: the name of a policy, and the path of its rule. */
const SOURCE = /^(\S+)( (?:ingress|egress)\[\d+\])/;

/**
 * Kubernetes names and paths are ASCII. Other characters, and those that would end the comment's quotes, become `_`.
 */
export function clip(text: string, bytes = COMMENT_BYTES): string {
  return text.replace(/[^ !#-~]/g, '_').slice(0, bytes);
}
