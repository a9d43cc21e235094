/** Limits for text that comes from an author of objects and is shown to people: a name may have a megabyte. */
const LONGEST_WORD = 300;
const SHOWN_OF_IT = 200;
const LONGEST = 4_000;

/** The text without the rest of long words, and without the rest of a long text; `…` marks each. */
export function boundedText(text: string): string {
  if (text.length <= LONGEST_WORD) return text;
  const words = text.replaceAll(/\S+/g, word =>
    word.length > LONGEST_WORD ? `${word.slice(0, SHOWN_OF_IT)}…` : word,
  );
  return words.length > LONGEST ? `${words.slice(0, LONGEST)}…` : words;
}
