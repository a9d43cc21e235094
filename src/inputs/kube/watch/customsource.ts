import type { Timing } from '../../../lib/async/timing.ts';
import type { Api } from '../client/api.ts';
import { decodeDelivered } from '../decode/decode.ts';
import { revisionOf } from '../report/identity.ts';
import { type ClusterFeed, WatchHealth } from './clusterfeed.ts';
import { ObjectSource, Objects } from './objects.ts';
import { Reflector, type Store, type WatchChange } from './reflector.ts';
import {
  type CustomPolicy,
  customResource,
  definitionOf,
  type Served,
  servedVersion,
  versionProblem,
  whyUnreadable,
} from './resource.ts';

/**
 * The policies of a kind that may not be defined: watches its CustomResourceDefinition, and the policies in the best
 * version that it serves. Only the absence of the definition means that there are none, never a 404. If the definition
 * cannot be read, the policies are requested all the same.
 */
export class CustomSource implements Store {
  readonly #policy: CustomPolicy;
  readonly #api: Api;
  readonly #timing: Timing;
  readonly #watchSeconds: () => number;
  readonly #feed: ClusterFeed;
  readonly #objects: Objects;
  readonly #definition: Reflector;
  readonly #health: WatchHealth;
  readonly #synced = Promise.withResolvers<void>();
  /** Whether the list of definitions being read, of one at most, has shown ours. */
  #isListed = false;
  #served: Served | undefined;
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(policy: CustomPolicy, api: Api, feed: ClusterFeed, timing: Timing, watchSeconds: () => number) {
    this.#watchSeconds = watchSeconds;
    this.#policy = policy;
    this.#api = api;
    this.#timing = timing;
    this.#feed = feed;
    this.#objects = new Objects(customResource(policy, policy.versions[0]!));
    this.#definition = new Reflector(api, definitionOf(policy), this, timing, watchSeconds);
    this.#health = new WatchHealth(`CustomResourceDefinition ${policy.plural}`, status =>
      feed.reportSource(status),
    );
  }

  /** Resolves when all policies were read once, or when it is known that there are none. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  async run(signal: AbortSignal): Promise<void> {
    const stop = () => this.#stop.abort();
    signal.addEventListener('abort', stop, { once: true });
    await this.#definition.run(signal);
    await this.#running;
  }

  startReplace(): void {
    this.#isListed = false;
  }

  apply(changes: readonly WatchChange[]): void {
    for (const change of changes) this.#apply(change);
  }

  setHealth(isWatching: boolean, reason?: unknown): void {
    this.#health.set(isWatching, reason);
    if (reason !== undefined && this.#served === undefined)
      this.#serve({ type: 'version', version: this.#policy.versions[0]! });
  }

  #apply(change: WatchChange): void {
    if (change.type === 'upsert') this.#isListed = true;
    if (change.type === 'replaced' && this.#isListed) return;
    if (change.type === 'upsert') {
      const { problems } = decodeDelivered(change.object, definitionOf(this.#policy));
      this.#feed.reportProblems(`definition of ${this.#policy.kind}`, problems);
      // While the definition has problems, the versions that were served before count as served.
      if (problems.length > 0) return;
    }
    const served = servedVersion(change.type === 'upsert' ? change.object : undefined, this.#policy);
    this.#serve(served, change.type === 'delete' ? revisionOf(change.object) : undefined);
  }

  #serve(served: Served, revision?: string): void {
    if (JSON.stringify(served) === JSON.stringify(this.#served)) return;
    const wasNowhere = this.#served?.type === 'nowhere';
    this.#served = served;
    this.#stop.abort();
    this.#feed.reportProblems(this.#policy.kind, this.#objects.problems);
    this.#reportVersions(served, wasNowhere);
    if (served.type === 'nowhere') this.#clear(revision);
    if (served.type === 'version') this.#follow(served);
  }

  /**
   * Policies that are younger than the deletion of the definition belong to its successor, which has not been reported
   * yet.
   */
  #clear(revision?: string): void {
    const gone = this.#objects.clear(revision);
    this.#feed.identities.forgetGone(gone);
    this.#feed.publish(gone);
    this.#feed.reportProblems(this.#policy.kind, this.#objects.problems);
    this.#feed.reportSource({ source: this.#policy.kind, state: 'absent' });
    this.#synced.resolve();
  }

  #follow({ version, readAs }: Served & { type: 'version' }): void {
    const resource = customResource(this.#policy, version, readAs);
    this.#objects.setResource(resource);
    this.#stop = new AbortController();
    const source = new ObjectSource(this.#policy.kind, this.#objects, this.#feed, version);
    source.synced.then(() => this.#synced.resolve());
    const reflector = new Reflector(this.#api, resource, source, this.#timing, this.#watchSeconds);
    this.#running = Promise.all([this.#running, reflector.run(this.#stop.signal)]).then(() => {});
  }

  /** A definition that is new and served in no version yet is no loss: no policies can have been written. */
  #reportVersions(served: Served, wasNowhere: boolean): void {
    const problem = versionProblem(served, this.#policy);
    this.#feed.reportProblems(`versions of ${this.#policy.kind}`, problem === undefined ? [] : [problem]);
    if (served.type !== 'unreadable' || (wasNowhere && served.versions.length === 0)) return;
    const reason = whyUnreadable(served, this.#policy);
    this.#feed.reportSource({ source: this.#policy.kind, state: 'lost', reason });
  }
}
