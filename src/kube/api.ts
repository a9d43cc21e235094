/** One GET of the API server. */
export interface Api {
  /** The body of the answer as it arrives. Throws ApiError, also from the body, and whatever aborts the signal. */
  get(path: string, query: Query, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
}

export type Query = Readonly<Record<string, string>>;
