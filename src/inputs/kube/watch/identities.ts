/**
 * Which objects of the server the policies are: what is said of one later by its name alone, that it is in quarantine for
 * one, is said of the very object. `kubectl describe` shows no Event without the object's uid.
 */
import type { ClusterEvent } from '../../../model/cluster.ts';
import type { ObjectReference } from '../../../model/problem.ts';

export class Identities {
  /** By id, as `NetworkPolicy shop/web`. */
  readonly #known = new Map<string, ObjectReference>();

  set(id: string, reference: ObjectReference | undefined): void {
    if (reference === undefined) this.#known.delete(id);
    else this.#known.set(id, reference);
  }

  forgetGone(events: readonly ClusterEvent[]): void {
    for (const { type, key, value } of events)
      if (type === 'policy' && value === undefined) this.#known.delete(key);
  }

  /** As the server knows it, where it is known. */
  complete(about: ObjectReference): ObjectReference {
    if (about.uid !== undefined) return about;
    const { kind, namespace, name } = about;
    return this.#known.get(`${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`) ?? about;
  }
}
