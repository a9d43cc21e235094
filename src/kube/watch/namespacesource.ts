import type { Timing } from '../../async/timing.ts';
import { asMap } from '../report/identity.ts';
import type { ClusterFeed } from './clusterfeed.ts';
import { Objects } from './objects.ts';
import { ObjectSource } from './objectsource.ts';
import type { WatchChange } from './reflector.ts';
import { NAMESPACES } from './resource.ts';

/** What happened while a watch was cut comes with its first events. */
const CAUGHT_UP_MS = 2_000;

/**
 * Namespaces, whose end decides how long their policies stay. A watch that goes on where it was cut does not know yet
 * which are being deleted, and a policy's deletion may be heard of first: only the end of a list says that all is known,
 * or a little time.
 *
 *     list ends ─▶ known ──cut──▶ unknown ──watches again──▶ catches up ──▶ known
 */
export class NamespaceSource extends ObjectSource {
  readonly #feed: ClusterFeed;
  readonly #timing: Timing;
  #isKnown = false;
  /** All of them were listed since they were last unknown. */
  #isListed = false;
  #catchingUp = new AbortController();

  constructor(feed: ClusterFeed, timing: Timing) {
    super(NAMESPACES.kind, new Objects(NAMESPACES), feed);
    this.#feed = feed;
    this.#timing = timing;
  }

  override apply(changes: readonly WatchChange[]): void {
    for (const change of changes)
      if (change.type === 'upsert') this.#feed.hold.setActive(change.name, !isTerminating(change.object));
    super.apply(changes);
    if (changes.some(({ type }) => type === 'replaced')) this.#isListed = true;
  }

  override setHealth(isWatching: boolean, reason?: unknown): void {
    super.setHealth(isWatching, reason);
    if (isWatching && this.#isKnown) return;
    this.close();
    if (!isWatching) this.#isListed = false;
    if (isWatching && !this.#isListed) void this.#catchUp();
    else this.#setKnown(isWatching);
  }

  /** Nothing is published any more that nobody has said. */
  close(): void {
    this.#catchingUp.abort();
  }

  async #catchUp(): Promise<void> {
    this.#catchingUp = new AbortController();
    const { signal } = this.#catchingUp;
    await this.#timing.sleep(CAUGHT_UP_MS, signal);
    if (!signal.aborted) this.#setKnown(true);
  }

  #setKnown(isKnown: boolean): void {
    this.#isKnown = isKnown;
    this.#feed.hold.setKnowsNamespaces(isKnown);
    this.#feed.publish([]);
  }
}

function isTerminating(namespace: unknown): boolean {
  return asMap(asMap(namespace).metadata).deletionTimestamp !== undefined;
}
