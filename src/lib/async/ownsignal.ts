/**
 * A signal that is aborted with any of these, for one more listener: some versions of Node.js warn of a leak when
 * eleven listen to one signal.
 */
export function ownSignal(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  return AbortSignal.any(signals.filter(signal => signal !== undefined));
}
