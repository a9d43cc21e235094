import type { Timing } from '../../../lib/async/timing.ts';
import type { Service, ServiceKey } from '../../../model/service.ts';
import type { Api } from '../client/api.ts';
import { isOfType } from '../decode/decode.ts';
import { decodeInventory } from '../decode/inventory.ts';
import { type SourceStatus, WatchHealth } from './clusterfeed.ts';
import { Reflector, type Store, type WatchChange } from './reflector.ts';
import { SERVICES } from './resource.ts';

/** Called with changes of Services. All calls are synchronous. */
export interface ServiceListener {
  put(service: Service): void;
  delete(key: ServiceKey): void;
  /** The keys of all known Services. */
  keys(): Iterable<ServiceKey>;
  onSource(status: SourceStatus): void;
}

/**
 * Watches Services, for their names only. Policy does not use them, so the node is ready even if they cannot be read.
 * The listener decides what is kept of them.
 */
export class ServiceSource implements Store {
  readonly #listener: ServiceListener;
  readonly #health: WatchHealth;
  /** Services that the list that is being read has not shown yet. */
  #unseen = new Set<ServiceKey>();

  constructor(listener: ServiceListener) {
    this.#listener = listener;
    this.#health = new WatchHealth(SERVICES.kind, status => listener.onSource(status));
  }

  startReplace(): void {
    this.#unseen = new Set(this.#listener.keys());
  }

  apply(changes: readonly WatchChange[]): void {
    for (const change of changes) this.#apply(change);
  }

  setHealth(isWatching: boolean, reason?: unknown): void {
    this.#health.set(isWatching, reason);
  }

  #apply(change: WatchChange): void {
    if (change.type === 'replaced') {
      for (const key of this.#unseen) this.#listener.delete(key);
      this.#unseen.clear();
      return;
    }
    const key = change.name as ServiceKey;
    this.#unseen.delete(key);
    if (change.type === 'upsert' && !isOfType(change.object, SERVICES)) return;
    const item = change.type === 'upsert' ? decodeInventory(change.object).item : undefined;
    if (item?.type === 'service') this.#listener.put(item.value);
    else this.#listener.delete(key);
  }
}

/** Runs until the signal. */
export function followServices(
  listener: ServiceListener,
  api: Api,
  timing: Timing,
  watchSeconds: () => number,
  signal: AbortSignal,
): Promise<void> {
  return new Reflector(api, SERVICES, new ServiceSource(listener), timing, watchSeconds).run(signal);
}
