import { asMap } from '../report/identity.ts';

/** Why the API server did not give what was asked for: its HTTP status, or what kept it from answering. */
export type ApiErrorCode = number | 'unreachable' | 'cut' | 'garbled' | 'too large';

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ApiErrorCode;
  /** How long the server asks to be left alone, and may be; usually 0. */
  readonly retryAfterMs: number;
  /** The server's own sentence, without what was asked; undefined where it is somebody else's answer. */
  readonly sentence: string | undefined;

  constructor(code: ApiErrorCode, message: string, options: ApiErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : {});
    this.code = code;
    this.retryAfterMs = options.retryAfterMs ?? 0;
    this.sentence = options.sentence;
  }
}

interface ApiErrorOptions {
  readonly retryAfterMs?: number;
  readonly sentence?: string | undefined;
  readonly cause?: unknown;
}

/** 410: the revision, or the rest of a list, is older than what the server still remembers. */
export function isExpired(error: unknown): boolean {
  return error instanceof ApiError && error.code === 410;
}

/** 422: a server without streaming lists refuses their parameters; older and stricter ones say 400. */
export function isNotUnderstood(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 422 || error.code === 400);
}

/** What a metav1.Status says. */
export function statusError(status: unknown): ApiError {
  const { kind, code, reason, message } = asMap(status);
  const words = [code, reason].filter(word => word !== undefined).join(' ');
  return new ApiError(
    typeof code === 'number' ? code : 'garbled',
    `${words}: ${message ?? 'no reason given'}`,
    { sentence: kind === 'Status' && typeof message === 'string' ? message : undefined },
  );
}
