/** The requests to the API server, and its errors. */
import { sleep } from '../../../lib/async/sleep.ts';
import { asMap } from '../report/identity.ts';

/** Reads from the API server. */
export interface Api {
  /**
   * One GET: the body of the answer as it arrives. Throws ApiError, also while the body is read, or the signal's reason
   * if it aborts.
   */
  get(path: string, query: Query, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
}

/** Makes new objects. */
export interface Creator {
  /** POSTs one object as JSON. Throws ApiError, 409 if one of that name exists, or the signal's reason if it aborts. */
  create(path: string, object: object, signal: AbortSignal): Promise<void>;
}

/** Changes objects. */
export interface Patcher {
  /** PATCHes one object by a strategic merge. Throws ApiError, or the signal's reason if it aborts. */
  patch(path: string, change: object, signal: AbortSignal): Promise<void>;
}

/** Replaces objects and removes them. */
export interface Editor {
  /** PUTs one object as JSON. Throws ApiError, 404 if there is none, or the signal's reason if it aborts. */
  replace(path: string, object: object, signal: AbortSignal): Promise<void>;
  /** DELETEs one object. Throws ApiError, 404 if there is none, or the signal's reason if it aborts. */
  remove(path: string, query: Query, signal: AbortSignal): Promise<void>;
}

export type Query = Readonly<Record<string, string>>;

/** Why the API server did not give an answer: its HTTP status, or what went wrong on the way. */
export type ApiErrorCode = number | 'unreachable' | 'cut' | 'garbled' | 'too large';

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ApiErrorCode;
  /** How long the server asks to be left alone, and may be; usually 0. */
  readonly retryAfterMs: number;
  /**
   * The server's own message, without the request; undefined if the answer is not from an API server, but from a proxy
   * for instance.
   */
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

/** 410: the revision, or the rest of a list, is older than the server's history. */
export function isExpired(error: unknown): boolean {
  return error instanceof ApiError && error.code === 410;
}

/** 422: a server without streaming lists refuses their parameters; older and stricter servers answer 400. */
export function isNotUnderstood(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 422 || error.code === 400);
}

/** The error that a metav1.Status describes. */
export function statusError(status: unknown): ApiError {
  const { kind, code, reason, message } = asMap(status);
  const words = [code, reason].filter(word => word !== undefined).join(' ');
  return new ApiError(
    typeof code === 'number' ? code : 'garbled',
    `${words}: ${message ?? 'no reason given'}`,
    { sentence: kind === 'Status' && typeof message === 'string' ? message : undefined },
  );
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ApiError('garbled', 'the answer is no JSON', { cause });
  }
}

export function garbled(): ApiError {
  return new ApiError('garbled', 'the answer is no JSON');
}

/**
 * Repeats a request while the answer is 403, for so many milliseconds; throws the last error of `ask`. A server may
 * answer 403 for a while because its rights, or our token, are not up to date there.
 */
export async function unlessForbidden<T>(ask: () => Promise<T>, forMs: number, everyMs: number): Promise<T> {
  const endMs = performance.now() + forMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 403) || performance.now() > endMs) throw error;
    }
    await sleep(everyMs);
  }
}
