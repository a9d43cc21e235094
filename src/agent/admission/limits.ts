/**
 * Limits on the size and the waiting time of policy changes, so that no change waits for the large change of another
 * namespace.
 */
export const FAIRNESS = {
  /** Entries up to which a change may go at once: some milliseconds of work. */
  small: 300,
  /** Entries that the changes of one namespace may have together in one batch; a single policy may have more. */
  turn: 1000,
  /** Entries that all small changes together may have in one batch. */
  batch: 3000,
  /** Large changes wait for as long as the last one took, but not for longer than this. */
  mostPauseMs: 1000,
  /** A change that has waited this long goes before all other changes of its namespace. */
  patienceMs: 5000,
  /** After that time a change that is large by its own text alone goes although it is not ready. */
  unreadyMs: 1000,
  /** After that time any edit goes although it is not ready; after `patienceMs` if it tightens. One of a namespace in that time. */
  overdueMs: 60_000,
  /** A flush that has taken this long leaves the changes that can wait to later flushes. */
  flushMs: 10,
  /** For so long a flush continues with work that can wait although a change waits for the next flush. */
  momentMs: 4,
} as const;
