/** What people read of an author's text: a name may have a megabyte, which is not read. */
const LONGEST_WORD = 300;
const SHOWN_OF_IT = 200;
const LONGEST = 4_000;

/** The text, with long words and the rest of a long text left out; each is followed by `…`. */
export function boundedText(text: string): string {
  if (text.length <= LONGEST_WORD) return text;
  const words = text.replaceAll(/\S+/g, word =>
    word.length > LONGEST_WORD ? `${word.slice(0, SHOWN_OF_IT)}…` : word,
  );
  return words.length > LONGEST ? `${words.slice(0, LONGEST)}…` : words;
}
