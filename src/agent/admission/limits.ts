/** What the changes of policies may weigh and how long they wait, so that no change waits for another namespace's large one. */
export const FAIRNESS = {
  /** What a change may weigh to go at once: some milliseconds of work. */
  small: 300,
  /** What the changes of one namespace may weigh in one batch; a single policy may weigh more. */
  turn: 1000,
  /** What all small changes may weigh in one batch. */
  batch: 3000,
  /** Large changes wait for as long as the last one took, but not for longer than this. */
  mostPauseMs: 1000,
  /** After that time a change goes before others of its namespace, whatever they are. */
  patienceMs: 5000,
  /** After that time a change that is large by its own text alone goes although it is not ready. */
  unreadyMs: 1000,
  /** After that time any edit goes although it is not ready; after `patienceMs` if it tightens. One of a namespace in that time. */
  overdueMs: 60_000,
  /** What can wait is left for later flushes when a flush has taken so long. */
  flushMs: 10,
  /** For so long a flush does what can wait although a change waits for the next one. */
  momentMs: 4,
} as const;
