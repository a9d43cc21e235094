import { isOfType } from '../decode/delivered.ts';
import type { ClusterFeed } from './clusterfeed.ts';
import { isTerminating } from './namespacequestions.ts';
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
    super.apply(changes);
    // In their order: of one that went and came again in one piece, the last word counts.
    for (const change of changes)
      if (change.type !== 'replaced' && isOfType(change.object, NAMESPACES))
        this.#feed.hold.setActive(change.name, change.type === 'upsert' && !isTerminating(change.object));
    this.#feed.publish([]);
  }
}
