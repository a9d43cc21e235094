/** An error that the user can fix; the message is one sentence that says how. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}
