import { asMap } from '../report/identity.ts';
import type { ClusterFeed } from './clusterfeed.ts';
import { Objects } from './objects.ts';
import { ObjectSource } from './objectsource.ts';
import type { WatchChange } from './reflector.ts';
import { NAMESPACES } from './resource.ts';

/** Namespaces, whose end decides how long their policies stay. */
export class NamespaceSource extends ObjectSource {
  readonly #feed: ClusterFeed;

  constructor(feed: ClusterFeed) {
    super(NAMESPACES.kind, new Objects(NAMESPACES), feed);
    this.#feed = feed;
  }

  override apply(changes: readonly WatchChange[]): void {
    for (const change of changes)
      if (change.type === 'upsert') this.#feed.hold.setActive(change.name, !isTerminating(change.object));
    super.apply(changes);
  }

  override setHealth(isWatching: boolean, reason?: unknown): void {
    super.setHealth(isWatching, reason);
    this.#feed.hold.setKnowsNamespaces(isWatching);
    this.#feed.publish([]);
  }
}

function isTerminating(namespace: unknown): boolean {
  return asMap(asMap(namespace).metadata).deletionTimestamp !== undefined;
}
