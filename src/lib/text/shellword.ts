/** As a word of a shell, which takes it as it is. */
export function shellWord(text: string): string {
  return /^[\w./@%+=:,-]+$/.test(text) && !text.startsWith('-') ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
