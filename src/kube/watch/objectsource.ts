import type { ClusterEvent } from '../../model/cluster.ts';
import type { Problem } from '../../model/problem.ts';
import type { SourceStatus } from './clusterfeed.ts';
import type { Objects } from './objects.ts';
import type { Change, Follower } from './reflector.ts';
import { WatchHealth } from './watchhealth.ts';

export interface SourceListener {
  onEvents(events: readonly ClusterEvent[]): void;
  onProblems(problems: readonly Problem[]): void;
  onStatus(status: SourceStatus): void;
}

/** Turns the changes of one resource into events. */
export class ObjectSource implements Follower {
  readonly #objects: Objects;
  readonly #listener: SourceListener;
  readonly #flow: WatchHealth;
  readonly #synced = Promise.withResolvers<void>();

  constructor(name: string, objects: Objects, listener: SourceListener) {
    this.#objects = objects;
    this.#listener = listener;
    this.#flow = new WatchHealth(name, status => listener.onStatus(status));
  }

  /** When all objects were read once, and told. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  onList(rolledBack: boolean): void {
    if (rolledBack) this.#objects.distrustRevisions();
    this.#objects.startList();
  }

  onChanges(changes: readonly Change[]): void {
    this.#listener.onEvents(changes.flatMap(change => this.#take(change)));
    this.#listener.onProblems(this.#objects.problems);
    if (changes.some(({ type }) => type === 'listed')) this.#synced.resolve();
  }

  onFlow(isFlowing: boolean, reason?: unknown): void {
    this.#flow.set(isFlowing, reason);
  }

  #take(change: Change): readonly ClusterEvent[] {
    switch (change.type) {
      case 'put':
        return this.#objects.put(change.name, change.object);
      case 'gone':
        return this.#objects.delete(change.name);
      case 'listed':
        return this.#objects.endList();
    }
  }
}
