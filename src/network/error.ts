/** Why the pod network refuses something, as the decision that a caller can take. */
export type NetworkErrorCode =
  /** The request itself is wrong: repeating it is of no use. */
  | 'invalid'
  /** The request needs a feature that Sluice does not have. */
  | 'unsupported'
  /** A foreign object is in the place of the one that should be made. */
  | 'conflict'
  /** No address is left. */
  | 'exhausted'
  /** It cannot be done now; the caller should retry. */
  | 'unavailable';

/** An error that is not foreseen counts as one that may pass. */
export function asNetworkError(error: Error): NetworkError {
  return error instanceof NetworkError ? error : new NetworkError('unavailable', error.message, error);
}

export class NetworkError extends Error {
  override readonly name = 'NetworkError';
  readonly code: NetworkErrorCode;

  constructor(code: NetworkErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}
