/**
 * Makes text from elsewhere safe for a terminal: names, labels and messages of a cluster may contain anything. Control
 * characters would move the cursor, rewrite lines or send commands to the terminal; invisible ones and those that
 * change the writing direction would make one name look like another.
 */

/**
 * Control, format and surrogate characters, the two separators that some terminals treat as a new line, and characters
 * that are invisible although they are letters, marks or symbols (U+3164, U+FE0F, U+2800), or look like a space.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** Each character that does not show itself as its number: `\x1b`, `\u{202e}`. A new line is one too. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, character => {
    const code = character.codePointAt(0)!.toString(16);
    return code.length <= 2 ? `\\x${code.padStart(2, '0')}` : `\\u{${code}}`;
  });
}

/** Whether a terminal may show it as it is. */
export function isPrintable(text: string): boolean {
  return text.search(UNPRINTABLE) === -1;
}

/** JSON that reads back as the same value, and whose text a terminal may show. */
export function printableJson(value: unknown): string {
  return printableJsonText(JSON.stringify(value));
}

/** Makes one line of JSON printable. */
export function printableJsonText(json: string): string {
  return json.replace(UNPRINTABLE, character =>
    Array.from({ length: character.length }, (_, at) => unit(character.charCodeAt(at))).join(''),
  );
}

/** A UTF-16 code unit as JSON writes it. */
function unit(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`;
}
