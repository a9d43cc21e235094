/** The storage of the API server in memory: objects, and a history that can be compacted and rolled back. */
import { type KubeObject, keyOf } from './fakeapiobjects.ts';

export interface StoredChange {
  readonly revision: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
}

export interface Backup {
  readonly objects: ReadonlyMap<string, KubeObject>;
  readonly history: readonly StoredChange[];
  readonly revision: number;
}

const FIRST_REVISION = 1000;

export class FakeStorage {
  #objects = new Map<string, KubeObject>();
  #history: StoredChange[] = [];
  #revision = FIRST_REVISION;
  #compacted = FIRST_REVISION;

  get objects(): readonly KubeObject[] {
    return [...this.#objects.values()];
  }

  get revision(): number {
    return this.#revision;
  }

  /** `Pod shop/web`. */
  get(key: string): KubeObject | undefined {
    return this.#objects.get(key);
  }

  put(object: KubeObject): StoredChange {
    return this.#record(this.#objects.has(keyOf(object)) ? 'MODIFIED' : 'ADDED', object);
  }

  delete(object: KubeObject): StoredChange {
    return this.#record('DELETED', object);
  }

  /** Whether the events since that revision are still in the history. */
  remembers(revision: number): boolean {
    return revision >= this.#compacted;
  }

  since(revision: number): readonly StoredChange[] {
    return this.#history.filter(entry => entry.revision > revision);
  }

  compact(): void {
    this.#history = [];
    this.#compacted = this.#revision;
  }

  backup(): Backup {
    return { objects: new Map(this.#objects), history: [...this.#history], revision: this.#revision };
  }

  restore({ objects, history, revision }: Backup): void {
    this.#objects = new Map(objects);
    this.#history = [...history];
    this.#revision = revision;
    this.#compacted = Math.min(this.#compacted, revision);
  }

  #record(type: StoredChange['type'], object: KubeObject): StoredChange {
    const revision = ++this.#revision;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
    if (type === 'DELETED') this.#objects.delete(keyOf(object));
    else this.#objects.set(keyOf(object), stored);
    const entry = { revision, type, object: stored };
    this.#history.push(entry);
    return entry;
  }
}
