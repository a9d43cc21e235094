import { realTiming, type Timing } from '../../../lib/async/timing.ts';
import type { PodKey } from '../../../model/cluster.ts';
import type { Direction } from '../../../model/policy.ts';
import type { LoadAccess } from '../client/access.ts';
import type { Api } from '../client/api.ts';
import { ApiServer, type Patience } from '../client/apiserver.ts';
import { isOfType } from '../decode/decode.ts';
import { ConditionWriter, type Unavailable } from '../report/conditionwriter.ts';
import type { EventSpec } from '../report/event.ts';
import { EventRecorder } from '../report/eventrecorder.ts';
import { ProblemEvents } from '../report/problemevents.ts';
import { ClusterFeed, type ClusterListener, Identities } from './clusterfeed.ts';
import { CustomSource } from './customsource.ts';
import { askedOf, isTerminating } from './namespacequestions.ts';
import { ObjectSource, Objects } from './objects.ts';
import { Reflector, type WatchChange, watchSeconds } from './reflector.ts';
import { CUSTOM_POLICIES, NAMESPACES, NETWORK_POLICIES, NODES, PODS, type Resource } from './resource.ts';
import { followServices, type ServiceListener } from './servicesource.ts';

export type { ClusterListener, SourceStatus } from './clusterfeed.ts';

export interface ClusterOptions {
  /** Policies of a namespace that is being deleted stay until its last pod on this node is gone; else on any. */
  readonly node?: string;
  /** Pods that rules in force isolate by NetworkPolicies: those of a namespace that is being deleted stay so. */
  readonly isolated?: ReadonlyMap<PodKey, ReadonlySet<Direction>>;
  /** If present, authors of policies get Events about problems of them; called with the reason if that fails. */
  readonly onEventTrouble?: (reason: string) => void;
  /** Called with the reason why a condition of the node cannot be written. */
  readonly onConditionTrouble?: (reason: string) => void;
  /** If present, also reads Services, which policy does not need: nothing waits for them. */
  readonly services?: ServiceListener;
  readonly patience?: Partial<Patience>;
  readonly timing?: Timing;
  /** Returns how long a watch may last in a cluster of so many nodes. */
  readonly watchSeconds?: (nodes: number) => number;
}

export interface ClusterWatch {
  /** When every source was read whole once, its events published. Never, as long as one of them cannot be read. */
  readonly ready: Promise<void>;
  /** Posts an Event about something else than policies; never waits. */
  report(spec: EventSpec): void;
  /** Writes of this node that its network takes no further pods, and why, or that it does; never waits. */
  reportNode(unavailable: Unavailable | undefined): void;
  /** No event comes after the call. */
  close(): Promise<void>;
}

/** Follows the part of a cluster's state that policy depends on, through its API server. */
export function watchCluster(
  access: LoadAccess,
  listener: ClusterListener,
  options: ClusterOptions = {},
): ClusterWatch {
  const { node, onEventTrouble: onTrouble, onConditionTrouble, patience, timing = realTiming } = options;
  const api = new ApiServer(access, patience);
  const stop = new AbortController();
  const recorder = onTrouble && new EventRecorder({ api, node: node ?? '', timing, onTrouble });
  const identities = new Identities();
  const problemEvents = recorder && new ProblemEvents(recorder, about => identities.complete(about));
  const feed = new ClusterFeed(
    problemEvents === undefined ? listener : alsoReporting(problemEvents, listener),
    { isLiving: askedOf(api), timing, signal: stop.signal, node, isolated: options.isolated, identities },
  );
  const nodes = new Objects(NODES);
  const seconds = () => (options.watchSeconds ?? watchSeconds)(nodes.size);
  const pods = node === undefined ? PODS : { ...PODS, uidsOn: node };
  const sources = makeSources(api, feed, timing, { nodes, pods }, seconds);
  const running = sources.map(source => source.run(stop.signal));
  if (options.services !== undefined)
    running.push(followServices(options.services, api, timing, seconds, stop.signal));
  const conditions =
    node === undefined
      ? undefined
      : new ConditionWriter({ api, node, timing, onTrouble: onConditionTrouble ?? (() => {}) });
  if (conditions !== undefined) running.push(conditions.run(stop.signal));
  if (recorder !== undefined) running.push(recorder.run(stop.signal));
  if (problemEvents !== undefined) running.push(problemEvents.repeat(timing, () => nodes.size, stop.signal));
  return {
    ready: Promise.all(sources.map(({ synced }) => synced)).then(() => feed.settled),
    report: spec => recorder?.post({ ...spec, about: identities.complete(spec.about) }),
    reportNode: unavailable => conditions?.set(unavailable),
    close: async () => {
      stop.abort();
      await Promise.all(running);
      await api.close();
    },
  };
}

function alsoReporting(problemEvents: ProblemEvents, listener: ClusterListener): ClusterListener {
  return {
    onEvents: changes => listener.onEvents(changes),
    onSource: status => listener.onSource(status),
    onProblems: problems => {
      listener.onProblems(problems);
      problemEvents.report(problems);
    },
  };
}

interface Source {
  readonly synced: Promise<void>;
  run(signal: AbortSignal): Promise<void>;
}

function makeSources(
  api: Api,
  feed: ClusterFeed,
  timing: Timing,
  { nodes, pods }: { readonly nodes: Objects; readonly pods: Resource },
  seconds: () => number,
): readonly Source[] {
  const reflected = (resource: Resource, source: ObjectSource): Source => {
    const reflector = new Reflector(api, resource, source, timing, seconds);
    return { synced: source.synced, run: signal => reflector.run(signal) };
  };
  const plain = (resource: Resource, objects = new Objects(resource)) =>
    reflected(resource, new ObjectSource(resource.kind, objects, feed));
  return [
    reflected(NAMESPACES, new NamespaceSource(feed)),
    plain(NODES, nodes),
    plain(NETWORK_POLICIES),
    plain(pods),
    ...CUSTOM_POLICIES.map(policy => new CustomSource(policy, api, feed, timing, seconds)),
  ];
}

/** Namespaces, whose end decides how long their policies stay. */
class NamespaceSource extends ObjectSource {
  readonly #feed: ClusterFeed;

  constructor(feed: ClusterFeed) {
    super(NAMESPACES.kind, new Objects(NAMESPACES), feed);
    this.#feed = feed;
  }

  override apply(changes: readonly WatchChange[]): void {
    super.apply(changes);
    // In order, so that the last change of an object counts.
    for (const change of changes)
      if (change.type !== 'replaced' && isOfType(change.object, NAMESPACES))
        this.#feed.terminating.setTerminating(
          change.name,
          change.type === 'delete' || isTerminating(change.object),
        );
    this.#feed.publish([]);
  }
}
