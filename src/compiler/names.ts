/** Names in the kernel: a short hash of what the object means, and a path that a person can read. */
import { hash } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'; // Crockford's base 32: no I, L, O, U
const SHORT = 8;
const LONG = 26;
const READABLE_LENGTH = 72;

/**
 * Names definitions, the same definition always the same. Two definitions whose short hashes collide (somebody
 * may look for such a pair) get the whole hash instead, so that they never share an object.
 */
export class Names {
  /** The whole hash of the definition behind each name. */
  readonly #definitions = new Map<string, string>();
  #collided = false;

  /** `prefix-HASH` or `prefix-HASH-readable`; a pure function of the definitions named before it. */
  of(prefix: string, definition: string, readable = ''): string {
    const digits = hashText(definition);
    for (const length of [SHORT, LONG]) {
      const name = join(prefix, digits.slice(0, length), readable);
      const other = this.#definitions.get(name);
      if (other === undefined) this.#definitions.set(name, digits);
      if (other === undefined || other === digits) return name;
      this.#collided = true;
    }
    throw new RangeError(`two definitions share the hash ${digits}`);
  }

  /** Whether a short hash was ever met with two definitions: then names depend on the order of the calls. */
  get collided(): boolean {
    return this.#collided;
  }

  /** Keeps memory in proportion to what is in use: forgets other names, now and then. */
  retainOnly(inUse: readonly string[]): void {
    if (this.#definitions.size < 2 * inUse.length + 1000) return;
    const keep = new Set(inUse);
    for (const name of this.#definitions.keys()) if (!keep.has(name)) this.#definitions.delete(name);
  }
}

function join(prefix: string, hash: string, readable: string): string {
  return readable === '' ? `${prefix}-${hash}` : `${prefix}-${hash}-${identifier(readable)}`;
}

/** nft's identifiers hold letters, digits, and `/ \ _ . -`. */
function identifier(text: string): string {
  return text.replace(/[^A-Za-z0-9/._-]/g, '_').slice(0, READABLE_LENGTH);
}

/** 130 bits of SHA-256 in base 32. */
function hashText(text: string): string {
  const bytes = hash('sha256', text, 'buffer');
  let digits = '';
  let bits = 0;
  for (let i = 0, have = 0; digits.length < LONG; have -= 5) {
    if (have < 5) {
      bits = ((bits << 8) | bytes[i++]!) & 0xffff;
      have += 8;
    }
    digits += ALPHABET[(bits >> (have - 5)) & 31];
  }
  return digits;
}

const COMMENT_BYTES = 120;

/** `shop/web ingress[0], shop/api ingress[1] and 7 more`: as many as fit into a comment of the kernel. */
export function commentOf(sources: readonly string[]): string {
  const unique = [...new Set(sources)];
  const room = COMMENT_BYTES - ` and ${unique.length} more`.length;
  let text = unique[0] ?? '';
  let shown = 1;
  while (shown < unique.length && text.length + unique[shown]!.length + 2 <= room)
    text += `, ${unique[shown++]}`;
  if (shown < unique.length) return `${clip(text, room)} and ${unique.length - shown} more`;
  return clip(text);
}

/** Kubernetes names and paths are ASCII; what is not, or would end the comment's quotes, becomes `_`. */
export function clip(text: string, bytes = COMMENT_BYTES): string {
  return text.replace(/[^ !#-~]/g, '_').slice(0, bytes);
}
