import { realTiming, type Timing } from '../../async/timing.ts';
import type { Problem } from '../../model/problem.ts';
import type { LoadAccess } from '../client/access.ts';
import type { Api } from '../client/api.ts';
import { ApiServer, type Patience } from '../client/apiserver.ts';
import { ConditionWriter } from '../report/conditionwriter.ts';
import type { EventSpec } from '../report/event.ts';
import { EventRecorder } from '../report/eventrecorder.ts';
import type { Unavailable } from '../report/nodecondition.ts';
import { ProblemEvents } from '../report/problemevents.ts';
import { ClusterFeed, type ClusterListener } from './clusterfeed.ts';
import { CustomSource } from './customsource.ts';
import { NamespaceSource } from './namespacesource.ts';
import { Objects } from './objects.ts';
import { ObjectSource, type SourceListener } from './objectsource.ts';
import { Reflector } from './reflector.ts';
import { CUSTOM_POLICIES, NAMESPACES, NETWORK_POLICIES, NODES, PODS, type Resource } from './resource.ts';

export type { ClusterListener, SourceStatus } from './clusterfeed.ts';

export interface ClusterOptions {
  /** Policies of a namespace that is being deleted stay until its last pod on this node is gone; else on any. */
  readonly node?: string;
  /** With it, the authors of policies are told by Events what is wrong with them; the function hears why that fails. */
  readonly onEventTrouble?: (reason: string) => void;
  /** Hears why a condition of the node cannot be written. */
  readonly onConditionTrouble?: (reason: string) => void;
  readonly patience?: Partial<Patience>;
  readonly timing?: Timing;
}

export interface ClusterWatch {
  /** When every source was read whole once, its events told. Never, as long as one of them cannot be read. */
  readonly ready: Promise<void>;
  /** Posts an Event about something else than policies; never waits. */
  tell(notice: EventSpec): void;
  /** Says of this node that its network takes no further pods, and why, or that it does; never waits. */
  tellNode(unavailable: Unavailable | undefined): void;
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
  const poster = onTrouble && new EventRecorder({ api, node: node ?? '', timing, onTrouble });
  const outlet = new ClusterFeed(poster === undefined ? listener : alsoTelling(poster, listener), node);
  const sources = makeSources(api, outlet, timing);
  const running = sources.map(source => source.run(stop.signal));
  const conditions =
    node === undefined
      ? undefined
      : new ConditionWriter({ api, node, timing, onTrouble: onConditionTrouble ?? (() => {}) });
  if (conditions !== undefined) running.push(conditions.run(stop.signal));
  if (poster !== undefined) running.push(poster.run(stop.signal));
  return {
    ready: Promise.all(sources.map(({ synced }) => synced)).then(() => {}),
    tell: notice => poster?.post(notice),
    tellNode: unavailable => conditions?.set(unavailable),
    close: async () => {
      stop.abort();
      await Promise.all(running);
      await api.close();
    },
  };
}

function alsoTelling(poster: EventRecorder, listener: ClusterListener): ClusterListener {
  const events = new ProblemEvents(poster);
  return {
    onEvents: changes => listener.onEvents(changes),
    onSource: status => listener.onSource(status),
    onProblems: problems => {
      listener.onProblems(problems);
      events.tell(problems);
    },
  };
}

interface Source {
  readonly synced: Promise<void>;
  run(signal: AbortSignal): Promise<void>;
}

function makeSources(api: Api, outlet: ClusterFeed, timing: Timing): readonly Source[] {
  const plain = (resource: Resource) => {
    const source = new ObjectSource(resource.kind, new Objects(resource), toOutlet(outlet, resource.kind));
    return runnable(source, new Reflector(api, resource, source, timing));
  };
  const namespaces = new NamespaceSource(
    NAMESPACES.kind,
    new Objects(NAMESPACES),
    toOutlet(outlet, NAMESPACES.kind),
    outlet.hold,
  );
  return [
    runnable(namespaces, new Reflector(api, NAMESPACES, namespaces, timing)),
    ...[NODES, NETWORK_POLICIES, PODS].map(plain),
    ...CUSTOM_POLICIES.map(policy => {
      const onVersionProblems = (problems: readonly Problem[]) =>
        outlet.tellProblems(`versions of ${policy.kind}`, problems);
      const listener = { ...toOutlet(outlet, policy.kind), onVersionProblems };
      return new CustomSource(policy, api, listener, timing);
    }),
  ];
}

function runnable(source: ObjectSource, reflector: Reflector): Source {
  return { synced: source.synced, run: signal => reflector.run(signal) };
}

function toOutlet(outlet: ClusterFeed, name: string): SourceListener {
  return {
    onEvents: events => outlet.tell(events),
    onProblems: problems => outlet.tellProblems(name, problems),
    onStatus: status => outlet.tellStatus(status),
  };
}
