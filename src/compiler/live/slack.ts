/** What a flush has time for of what can wait; asked again and again, for somebody may come meanwhile. */
export interface Slack {
  /** Somebody waits for the flush, or for the next one. */
  isAwaited(): boolean;
  /** How many groups may be asked about pods, or pods about groups. */
  most(): number;
}

/** Where somebody waits: some all the same, so that nobody keeps others from their turn. */
const AWAITED = 1 / 8;

export function slackOf(most: number, isAwaited: () => boolean): Slack {
  return { isAwaited, most: () => (isAwaited() ? Math.ceil(most * AWAITED) : most) };
}
