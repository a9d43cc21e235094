/** A number of 32 bits, that depends on the text alone: for places in tables, and for no secret. */
export function textHash(text: string, start = 0): number {
  let hash = start;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return hash >>> 0;
}
