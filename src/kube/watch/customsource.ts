import type { Timing } from '../../async/timing.ts';
import type { Api } from '../client/api.ts';
import type { SourceStatus } from './clusterfeed.ts';
import { Objects } from './objects.ts';
import { ObjectSource, type SourceListener } from './objectsource.ts';
import { type Change, type Follower, Reflector } from './reflector.ts';
import { type CustomPolicy, customResource, definitionOf } from './resource.ts';
import { type Served, servedVersion } from './served.ts';
import { WatchHealth } from './watchhealth.ts';

/**
 * The policies of a kind that may not be there: follows its CustomResourceDefinition, and while that is served in
 * a version that can be read, the policies. Without a definition there are none; that only the definition's own
 * absence says, never a 404.
 */
export class CustomSource implements Follower {
  readonly #policy: CustomPolicy;
  readonly #api: Api;
  readonly #timing: Timing;
  readonly #listener: SourceListener;
  readonly #objects: Objects;
  readonly #definition: Reflector;
  readonly #flow: WatchHealth;
  readonly #synced = Promise.withResolvers<void>();
  /** Whether the list of definitions being read, of one at most, has shown ours. */
  #isListed = false;
  #served: Served | undefined;
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(policy: CustomPolicy, api: Api, listener: SourceListener, timing: Timing) {
    this.#policy = policy;
    this.#api = api;
    this.#timing = timing;
    this.#listener = listener;
    this.#objects = new Objects(customResource(policy, policy.versions[0]!));
    this.#definition = new Reflector(api, definitionOf(policy), this, timing);
    this.#flow = new WatchHealth(`CustomResourceDefinition ${policy.plural}`, status =>
      listener.onStatus(status),
    );
  }

  /** When all policies were read once, or it is known that none can be. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  async run(signal: AbortSignal): Promise<void> {
    const stop = () => this.#stop.abort();
    signal.addEventListener('abort', stop, { once: true });
    await this.#definition.run(signal);
    await this.#running;
  }

  onList(): void {
    this.#isListed = false;
  }

  onChanges(changes: readonly Change[]): void {
    for (const change of changes) this.#take(change);
  }

  onFlow(isFlowing: boolean, reason?: unknown): void {
    this.#flow.set(isFlowing, reason);
  }

  #take(change: Change): void {
    if (change.type === 'put') this.#isListed = true;
    if (change.type === 'listed' && this.#isListed) return;
    this.#serve(servedVersion(change.type === 'put' ? change.object : undefined, this.#policy));
  }

  #serve(served: Served): void {
    if (JSON.stringify(served) === JSON.stringify(this.#served)) return;
    this.#served = served;
    this.#stop.abort();
    this.#listener.onProblems(this.#objects.problems);
    if (served.type === 'unreadable' && served.versions.length > 0) this.#tellUnreadable(served.versions);
    if (served.type === 'nowhere') this.#clear();
    if (served.type === 'version') this.#follow(served.version);
    else this.#synced.resolve();
  }

  #clear(): void {
    this.#listener.onEvents(this.#objects.clear());
    this.#listener.onProblems([]);
    this.#listener.onStatus({ source: this.#policy.kind, state: 'absent' });
  }

  #follow(version: string): void {
    this.#objects.distrustRevisions();
    this.#stop = new AbortController();
    const onStatus = (status: SourceStatus) => this.#listener.onStatus({ ...status, version });
    const source = new ObjectSource(this.#policy.kind, this.#objects, { ...this.#listener, onStatus });
    source.synced.then(() => this.#synced.resolve());
    const resource = customResource(this.#policy, version);
    const running = new Reflector(this.#api, resource, source, this.#timing).run(this.#stop.signal);
    this.#running = Promise.all([this.#running, running]).then(() => {});
  }

  #tellUnreadable(served: readonly string[]): void {
    const { kind, versions } = this.#policy;
    const message = `is served only as ${served.join(', ')}, and can be read only as ${versions.join(' or ')}`;
    const effect = 'what was last known of these policies stays in force';
    this.#listener.onProblems([{ severity: 'error', object: kind, message, effect }]);
    this.#listener.onStatus({ source: kind, state: 'lost', reason: message });
  }
}
