/** The text of a file: in UTF-8, or in UTF-16 where it begins so, as some shells redirect output; kubectl reads both. */
export function decodedText(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  // With its mark, if it begins with one: what is written back begins as it did.
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}
