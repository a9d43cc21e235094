/** Whoever may read. */
export interface Api {
  /** One GET: the body of the answer as it arrives. Throws ApiError, also from the body, and whatever aborts the signal. */
  get(path: string, query: Query, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
}

/** Whoever may make new objects. */
export interface Creator {
  /** POSTs one object as JSON. Throws ApiError, 409 where one of that name exists, and whatever aborts the signal. */
  create(path: string, object: object, signal: AbortSignal): Promise<void>;
}

/** Whoever may change objects. */
export interface Patcher {
  /** PATCHes one object by a strategic merge. Throws ApiError, and whatever aborts the signal. */
  patch(path: string, change: object, signal: AbortSignal): Promise<void>;
}

/** Whoever may write over objects and remove them. */
export interface Editor {
  /** PUTs one object as JSON. Throws ApiError, 404 where there is none, and whatever aborts the signal. */
  replace(path: string, object: object, signal: AbortSignal): Promise<void>;
  /** DELETEs one object. Throws ApiError, 404 where there is none, and whatever aborts the signal. */
  remove(path: string, query: Query, signal: AbortSignal): Promise<void>;
}

export type Query = Readonly<Record<string, string>>;
