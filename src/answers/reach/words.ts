/** The same text for the same words, and for no others. */
export function textOfWords(words: Uint32Array<ArrayBuffer>): string {
  const units = new Uint16Array(words.buffer);
  let text = '';
  for (let at = 0; at < units.length; at += MOST_ARGUMENTS)
    text += String.fromCharCode(...units.subarray(at, at + MOST_ARGUMENTS));
  return text;
}

const MOST_ARGUMENTS = 8_192;
