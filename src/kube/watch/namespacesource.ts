import { asMap } from '../report/identity.ts';
import type { PolicyHold } from './hold.ts';
import type { Objects } from './objects.ts';
import { ObjectSource, type SourceListener } from './objectsource.ts';
import type { Change } from './reflector.ts';

/** Namespaces, whose end decides how long their policies stay. */
export class NamespaceSource extends ObjectSource {
  readonly #hold: PolicyHold;
  readonly #listener: SourceListener;

  constructor(name: string, objects: Objects, listener: SourceListener, hold: PolicyHold) {
    super(name, objects, listener);
    this.#hold = hold;
    this.#listener = listener;
  }

  override onChanges(changes: readonly Change[]): void {
    for (const change of changes)
      if (change.type === 'put') this.#hold.setActive(change.name, !isTerminating(change.object));
    super.onChanges(changes);
  }

  override onFlow(isFlowing: boolean, reason?: unknown): void {
    super.onFlow(isFlowing, reason);
    this.#hold.setKnowsNamespaces(isFlowing);
    this.#listener.onEvents([]);
  }
}

function isTerminating(namespace: unknown): boolean {
  return asMap(asMap(namespace).metadata).deletionTimestamp !== undefined;
}
