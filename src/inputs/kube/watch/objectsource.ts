import type { ClusterEvent } from '../../../model/cluster.ts';
import { referenceOf } from '../report/identity.ts';
import type { ClusterFeed } from './clusterfeed.ts';
import type { Objects } from './objects.ts';
import type { Store, WatchChange } from './reflector.ts';
import { WatchHealth } from './watchhealth.ts';

/** The store of one resource: publishes its changes as events. */
export class ObjectSource implements Store {
  readonly #kind: string;
  readonly #objects: Objects;
  readonly #feed: ClusterFeed;
  readonly #health: WatchHealth;
  readonly #synced = Promise.withResolvers<void>();

  constructor(kind: string, objects: Objects, feed: ClusterFeed, version?: string) {
    this.#kind = kind;
    this.#objects = objects;
    this.#feed = feed;
    this.#health = new WatchHealth(kind, status =>
      feed.reportSource(version === undefined ? status : { ...status, version }),
    );
  }

  /** When all objects were read once, and published. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  startReplace(rolledBack: boolean): void {
    if (rolledBack) this.#objects.distrustRevisions();
    this.#objects.startReplace();
  }

  apply(changes: readonly WatchChange[]): void {
    this.#feed.publish(changes.flatMap(change => this.#apply(change)));
    this.#feed.reportProblems(this.#kind, this.#objects.problems);
    if (changes.some(({ type }) => type === 'replaced')) this.#synced.resolve();
  }

  setHealth(isWatching: boolean, reason?: unknown): void {
    this.#health.set(isWatching, reason);
  }

  #apply(change: WatchChange): readonly ClusterEvent[] {
    const events = this.#eventsOf(change);
    this.#feed.identities.forgetGone(events);
    if (change.type === 'upsert' && this.#kind.endsWith('Policy') && this.#objects.has(change.name)) {
      const reference = referenceOf(change.object);
      // An object of another kind is not the policy that Events are to name.
      if (reference?.kind === this.#kind)
        this.#feed.identities.set(`${this.#kind} ${change.name}`, reference);
    }
    return events;
  }

  #eventsOf(change: WatchChange): readonly ClusterEvent[] {
    switch (change.type) {
      case 'upsert':
        return this.#objects.upsert(change.name, change.object);
      case 'delete':
        return this.#objects.delete(change.name);
      case 'replaced':
        return this.#objects.replaced();
    }
  }
}
