/** How much of the work that can wait a flush does. */

/** What the caller of a flush knows of who waits, and of the time. */
export interface TimeBudget {
  /** An event waits for this flush or the next one. Asked again and again, since one may come meanwhile. */
  isAwaited(): boolean;
  /** Begins a short time for which every event may wait; the answer tells whether it still lasts. */
  moment(): () => boolean;
}

/** No event waits. */
export const UNLIMITED_TIME: TimeBudget = { isAwaited: () => false, moment: () => () => true };

export interface WorkBudget extends TimeBudget {
  /** How many groups may be asked about pods, or pods about groups. */
  most(): number;
}

/** The share of the work that is done although an event waits, so that events that come without end do not stop it. */
const AWAITED = 1 / 8;

/** With `takesPolicies` an event waits for this very flush. */
export function workBudget(most: number, timeBudget: TimeBudget, takesPolicies: boolean): WorkBudget {
  const isAwaited = () => takesPolicies || timeBudget.isAwaited();
  return {
    isAwaited,
    moment: () => timeBudget.moment(),
    most: () => (isAwaited() ? Math.ceil(most * AWAITED) : most),
  };
}
