/** Something that the person at the shell can mend; the message is one sentence that says how. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}
