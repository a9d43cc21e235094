/** What the other end sent is not what the protocol says: nothing after it can be trusted, the connection ends. */
export class WireError extends Error {
  override readonly name = 'WireError';
}
