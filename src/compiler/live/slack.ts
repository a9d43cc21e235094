/** What a flush has time for of what can wait. */

/** What whoever flushes knows of who waits, and of the time. */
export interface Leisure {
  /** Somebody waits for the flush, or for the next one; asked again and again, for somebody may come meanwhile. */
  isAwaited(): boolean;
  /** Begins a moment for which nobody minds to wait; answers whether it goes on. */
  moment(): () => boolean;
}

/** Nobody waits. */
export const ALL_TIME: Leisure = { isAwaited: () => false, moment: () => () => true };

export interface Slack extends Leisure {
  /** How many groups may be asked about pods, or pods about groups. */
  most(): number;
}

/** Where somebody waits: some all the same, so that nobody keeps others from their turn. */
const AWAITED = 1 / 8;

/** `takesPolicies`: somebody waits for this very flush. */
export function slackOf(most: number, leisure: Leisure, takesPolicies: boolean): Slack {
  const isAwaited = () => takesPolicies || leisure.isAwaited();
  return {
    isAwaited,
    moment: () => leisure.moment(),
    most: () => (isAwaited() ? Math.ceil(most * AWAITED) : most),
  };
}
