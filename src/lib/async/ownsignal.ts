/** The same for one more who listens: some versions of Node.js warn of a leak where eleven listen to one signal. */
export function ownSignal(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  return AbortSignal.any(signals.filter(signal => signal !== undefined));
}
