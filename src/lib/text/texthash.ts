/** A 32-bit hash that depends on the text alone: for hash tables, not for secrets. */
export function textHash(text: string, start = 0): number {
  let hash = start;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return hash >>> 0;
}
