/** What the changes of policies may weigh and how long they wait, so that nobody's waits for somebody else's big one. */
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
  /** After that time what is large by its own text alone goes although it is not ready: to make it is work of a turn. */
  unreadyMs: 1000,
  /**
   * What allows less and is not ready after all patience goes as it is; of a namespace one in that time, after which goes
   * also what is written again and again.
   */
  hastenMs: 60_000,
  /** What can wait is left for later flushes when one has taken so long: others may come as soon as it has begun. */
  leisureMs: 10,
  /** Of what can wait so much is done also where somebody waits: whoever always does keeps no other from his turn. */
  momentMs: 4,
} as const;
