/** How much of the work that can wait a flush does. */

/** What the caller of a flush knows of waiting events and of the time. */
export interface TimeBudget {
  /** Whether an event waits for this flush or the next one. It may change during the flush. */
  hasWaitingEvents(): boolean;
  /** Starts a short period in which any event may wait. The returned function says whether it still lasts. */
  readonly moment: () => () => boolean;
}

/** A budget for callers without waiting events. */
export const UNLIMITED_TIME: TimeBudget = { hasWaitingEvents: () => false, moment: () => () => true };

export interface WorkBudget extends TimeBudget {
  /** How many look-ups of groups for pods, or of pods for groups, may be done. */
  most(): number;
}

/** The share of the work that is done although an event waits, so that an endless stream of events does not stop it. */
const AWAITED = 1 / 8;

/** `takesPolicies`: a change of a policy waits for this flush. */
export function workBudget(most: number, timeBudget: TimeBudget, takesPolicies: boolean): WorkBudget {
  const hasWaitingEvents = () => takesPolicies || timeBudget.hasWaitingEvents();
  return {
    hasWaitingEvents,
    moment: timeBudget.moment,
    most: () => (hasWaitingEvents() ? Math.ceil(most * AWAITED) : most),
  };
}
