import { hash } from 'node:crypto';
import type { ClusterEvent } from '../../../model/cluster.ts';
import type { Problem } from '../../../model/problem.ts';
import { decodeDelivered, isOfType } from '../decode/decode.ts';
import { asMap, isRolledBack, referenceOf, revisionOf } from '../report/identity.ts';
import { type ClusterFeed, WatchHealth } from './clusterfeed.ts';
import type { Store, WatchChange } from './reflector.ts';
import { goneEvent, type Resource } from './resource.ts';
import { readPart } from './shapes.ts';

/**
 * Which objects of one kind were published, and at which revision; of the objects themselves nothing is kept but what
 * was published of them, which the cluster has anyway. While a list is read, what it has not shown yet is only suspected to be gone, and at its end it is known.
 *
 *     upsert/delete ─▶ events       startReplace … upsert … upsert … replaced ─▶ events of what vanished
 */
export class Objects {
  #resource: Resource;
  /** Keys are names, `shop/web`; the revision is empty where the object has to be read again even at the same one. */
  readonly #revisions = new Map<string, string>();
  /** What was published of each object last: most changes do not concern policy. */
  readonly #published = new Map<string, ClusterEvent['value']>();
  /**
   * A digest of the fields that were read of each object that came again without a relevant change: heartbeats of
   * nodes, and most changes of a pod's status. If it comes with the same digest once more, it is not even decoded.
   */
  readonly #repeated = new Map<string, string>();
  readonly #problems = new Map<string, readonly Problem[]>();
  #allProblems: readonly Problem[] | undefined;
  /** Names that the list being read has not shown yet. */
  #unseen: Set<string> | undefined;

  constructor(resource: Resource) {
    this.#resource = resource;
  }

  /** How many there are, as far as is known. */
  get size(): number {
    return this.#revisions.size;
  }

  /** Whether it was published, and has not been taken away since. */
  has(name: string): boolean {
    return this.#published.has(name);
  }

  /** Takes the present version of an object; one that cannot be read keeps its previous version. */
  upsert(name: string, object: unknown): readonly ClusterEvent[] {
    const revision = revisionOf(object) ?? '';
    this.#unseen?.delete(name);
    if (revision !== '' && this.#revisions.get(name) === revision) return [];
    // The server that delivered another type may deliver the right one at the same revision.
    const read = isOfType(object, this.#resource) ? revision : '';
    const known = this.#repeated.get(name);
    if (known !== undefined && known === this.#digestOf(object)) {
      this.#revisions.set(name, read);
      return [];
    }
    const { event, problems } = decodeDelivered(object, this.#resource);
    // Each map keeps its keys, and the pod has the same text: there are very many of them.
    this.#revisions.set(event?.key === name ? event.key : name, read);
    if (problems.length > 0) this.#setProblems(name, this.#aboutPolicy(problems, object));
    else this.#setProblems(name);
    const isNews = event !== undefined && this.#isNews(name, event);
    if (event === undefined || isNews) this.#repeated.delete(name);
    else this.#repeated.set(name, this.#digestOf(object));
    return isNews ? [event] : [];
  }

  #digestOf(object: unknown): string {
    return hash('sha1', readPart(object, this.#resource.kind), 'base64');
  }

  delete(name: string): readonly ClusterEvent[] {
    return this.#forget(name);
  }

  startReplace(): void {
    this.#unseen = new Set(this.#revisions.keys());
  }

  /** The list is complete: objects that it did not have are gone. */
  replaced(): readonly ClusterEvent[] {
    const gone = [...(this.#unseen ?? [])];
    this.#unseen = undefined;
    return gone.flatMap(name => this.#forget(name));
  }

  /** From now on the same objects come in another API version. */
  setResource(resource: Resource): void {
    this.#resource = resource;
    this.#repeated.clear();
    this.distrustRevisions();
  }

  /** Reads every object again when it comes next, because its revision no longer identifies its contents. */
  distrustRevisions(): void {
    for (const name of this.#revisions.keys()) this.#revisions.set(name, '');
  }

  /** All of them are gone, but for those that came after the revision, where that is known. */
  clear(revision?: string): readonly ClusterEvent[] {
    const isLater = (of: string) => revision !== undefined && isRolledBack(revision, of);
    const gone = [...this.#revisions].filter(([, of]) => !isLater(of));
    return gone.flatMap(([name]) => this.#forget(name));
  }

  /** The same list until one of them changes: most changes are of objects that nothing is wrong with. */
  get problems(): readonly Problem[] {
    this.#allProblems ??= [...this.#problems.values()].flat();
    return this.#allProblems;
  }

  #setProblems(name: string, problems?: readonly Problem[]): void {
    if (problems === undefined && !this.#problems.delete(name)) return;
    // Unchanged problems keep the same object, so that the list need not be compared again.
    if (problems !== undefined && JSON.stringify(this.#problems.get(name)) === JSON.stringify(problems))
      return;
    if (problems !== undefined) this.#problems.set(name, problems);
    this.#allProblems = undefined;
  }

  /** Only policies have authors who expect an answer; the type that an object states may be wrong. */
  #aboutPolicy(problems: readonly Problem[], object: unknown): readonly Problem[] {
    const { apiVersion, kind } = this.#resource;
    if (!kind.endsWith('Policy')) return problems;
    const about = referenceOf({ ...asMap(object), apiVersion, kind });
    return about === undefined ? problems : problems.map(problem => ({ ...problem, about }));
  }

  #isNews(name: string, { key, value }: ClusterEvent): boolean {
    const isNews = JSON.stringify(this.#published.get(name)) !== JSON.stringify(value);
    if (isNews) this.#published.set(key === name ? key : name, value);
    return isNews;
  }

  #forget(name: string): readonly ClusterEvent[] {
    this.#unseen?.delete(name);
    this.#revisions.delete(name);
    this.#repeated.delete(name);
    this.#setProblems(name);
    return this.#published.delete(name) ? [goneEvent(this.#resource, name)] : [];
  }
}

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

  /** Resolves when all objects were read once, and published. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  startReplace(rolledBack: boolean): void {
    if (rolledBack) this.#objects.distrustRevisions();
    this.#objects.startReplace();
  }

  apply(changes: readonly WatchChange[]): void {
    const events: ClusterEvent[] = [];
    let isSynced = false;
    for (const change of changes) {
      for (const event of this.#apply(change)) events.push(event);
      isSynced ||= change.type === 'replaced';
    }
    this.#feed.publish(events);
    this.#feed.reportProblems(this.#kind, this.#objects.problems);
    if (isSynced) this.#synced.resolve();
  }

  setHealth(isWatching: boolean, reason?: unknown): void {
    this.#health.set(isWatching, reason);
  }

  #apply(change: WatchChange): readonly ClusterEvent[] {
    const events = this.#eventsOf(change);
    if (!this.#kind.endsWith('Policy')) return events;
    this.#feed.identities.forgetGone(events);
    if (change.type === 'upsert' && this.#objects.has(change.name)) {
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
