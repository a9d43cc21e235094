import type { Agent } from '../../agent/agent.ts';
import { openConnectionsOf } from '../../agent/connections/openconnections.ts';
import type { StatusKeeper } from '../../agent/status.ts';
import { subjectSelects } from '../../compiler/classes.ts';
import type { Host, Ours, PodRoute, Reading } from '../../kernel/host/facts.ts';
import type { Address } from '../../model/address.ts';
import { type ContestedAddress, contestedAddresses } from '../../model/addressowners.ts';
import { type Cluster, isSelectable, namespaceOf, type Pod, type PodKey } from '../../model/cluster.ts';
import { podCidrsOf } from '../../model/podcidrs.ts';
import { comparePolicies, policyLabel } from '../../model/policy.ts';
import type { CniParts } from '../../network/cni/cni.ts';
import type { Conntrack } from '../../nft/conntrack.ts';
import { type FlowSource, NO_FLOWS } from '../../observe/flows/source.ts';
import { type KernelFacts, NO_DENIALS, NOTHING_MISSING } from '../health/agentchecks.ts';
import { type Health, health } from '../health/health.ts';
import { isNearlyFull } from '../health/hostchecks.ts';
import { NO_NAMES } from '../health/namescheck.ts';
import { NO_GATE, type PodStarts } from '../health/startchecks.ts';
import { latestOpeners, openersOf } from './openers.ts';
import type { AgentView, AuditsView, CountsView, DenialsView, Identity, NamesView } from './view.ts';

/** Many may ask at the same time; the node is read at most this often. */
const FRESH_MS = 500;

export interface AgentParts {
  readonly identity: Identity;
  readonly keeper: StatusKeeper;
  readonly agent: Pick<Agent, 'requestResync' | 'podsInForce'>;
  readonly readHost: () => Promise<Host>;
  /** By which interfaces the node's routes lead to these pods; default: nobody has looked. */
  readonly readPodRoutes?: (
    pods: readonly Address[],
    uplinks: readonly number[],
  ) => Promise<Reading<readonly PodRoute[]>>;
  /** Default: no gate. */
  readonly starts?: () => PodStarts;
  /** Where Sluice attaches pods. */
  readonly pods?: CniParts | undefined;
  /** Default: a kernel that lacks nothing. */
  readonly kernel?: KernelFacts;
  /** Default: nothing is tracked. */
  readonly openConntrack?: () => Pick<Conntrack, 'read' | 'close'>;
  /** Default: no pod has a rule by name. */
  readonly names?: NamesView;
  /** Default: none is named. */
  readonly denials?: DenialsView;
  /** Default: nobody tells. */
  readonly flows?: FlowSource;
  /** Default: rules do not count. */
  readonly counts?: CountsView | undefined;
  /** Default: no policy is audited. */
  readonly audits?: AuditsView;
}

export function agentView({
  identity,
  keeper,
  agent,
  readHost,
  readPodRoutes,
  starts = () => NO_GATE,
  pods,
  kernel = NOTHING_MISSING,
  names = NOBODY_HEARS,
  denials = NONE_NAMED,
  flows = NO_FLOWS,
  counts,
  audits = NONE_AUDITED,
  openConntrack,
}: AgentParts): AgentView {
  const host = cached(readHost);
  const { network } = pods ?? {};
  const own = cached(async () => ours(keeper));
  const ways = cached(
    async () => readPodRoutes && { podRoutes: await readPodRoutes(...podsAndUplinks(keeper)) },
  );
  const attached = cached(async () => network && { attached: await network.facts() });
  const openers = latestOpeners(async () =>
    openConntrack === undefined
      ? { unreadable: 'nothing is tracked' }
      : openersOf(openConntrack, keeper.cluster, keeper.status().node),
  );
  return {
    identity,
    keeper,
    health: async (): Promise<Health> => {
      const read = await host();
      const opened = openers(isNearlyFull(read));
      return health({
        work: keeper.status(),
        host: read,
        ours: {
          ...(await own()),
          ...(await ways()),
          ...(await attached()),
          ...(opened && { openers: opened }),
        },
        nowMs: Date.now(),
        starts: starts(),
        kernel,
        dns: names.status(),
        denied: await denials.facts(),
      });
    },
    starts,
    names,
    denials,
    flows,
    audits,
    pod: key => keeper.pod(key),
    policiesOf: key => policiesOf(keeper, key),
    requestResync: () => agent.requestResync(),
    podsInForce: () => agent.podsInForce,
    openConnections: async () =>
      openConntrack === undefined ? [] : openConnectionsOf(openConntrack(), keeper.localAddresses()),
    ...(counts && { counts }),
    ...(pods && { pods }),
  };
}

const NONE_AUDITED: AuditsView = { totals: [], unjudged: 0 };

const NONE_NAMED: DenialsView = {
  facts: async () => NO_DENIALS,
  denials: () => [],
  follow: () => () => undefined,
};

const NOBODY_HEARS: NamesView = { status: () => NO_NAMES, cache: async () => undefined };

function cached<T>(read: () => Promise<T>): () => Promise<T> {
  let last: { readonly atMs: number; readonly value: Promise<T> } | undefined;
  return () => {
    const nowMs = performance.now();
    if (last === undefined || nowMs - last.atMs > FRESH_MS) last = { atMs: nowMs, value: read() };
    return last.value;
  };
}

function ours(keeper: StatusKeeper): Ours {
  const { node } = keeper.status();
  const { nodes, pods } = keeper.cluster;
  return {
    podCidrs: podCidrsOf(nodes.get(node)),
    podAddresses: keeper.localAddresses(),
    podNames: [...pods.values()].filter(pod => pod.node === node).map(({ name }) => name),
    contested: contestedAddresses(keeper.cluster, node).map(contestedText),
    ...withoutPort(keeper.cluster, node),
  };
}

function podsAndUplinks(keeper: StatusKeeper): [pods: readonly Address[], uplinks: readonly number[]] {
  const { node } = keeper.status();
  return [keeper.localAddresses(), keeper.cluster.nodes.get(node)?.links?.uplinks ?? []];
}

function withoutPort({ nodes, pods }: Cluster, node: string): Pick<Ours, 'withoutPort' | 'unknownPorts'> {
  const { podPorts: ports, bridgePorts } = nodes.get(node)?.links ?? {};
  if (ports === undefined) return {};
  const behind = new Set(ports.flatMap(({ addresses }) => addresses));
  const local = [...pods.values()].filter(pod => pod.node === node && isSelectable(pod));
  const outside = local.filter(({ addresses }) => !addresses.every(address => behind.has(address)));
  return { withoutPort: outside.map(({ key }) => key), unknownPorts: bridgePorts?.unknown ?? [] };
}

/** A node may have thousands of pods report one address. */
const MOST_NAMED = 5;

function contestedText({ address, pods: [owner, ...others] }: ContestedAddress): string {
  const text = ({ key, node }: Pod) => `${key} on ${node || 'no node'}`;
  const rest = others.length - MOST_NAMED;
  const named = others.slice(0, MOST_NAMED).map(text).join(' or ');
  return `${address}: ${text(owner!)}, and not ${named}${rest > 0 ? ` or ${rest} more` : ''}`;
}

/** In order of precedence within their tiers. */
function policiesOf({ cluster }: StatusKeeper, key: PodKey): string[] {
  const pod = cluster.pods.get(key);
  if (pod === undefined || !isSelectable(pod)) return [];
  const namespace = namespaceOf(cluster, pod.namespace);
  const chosen = [...cluster.policies.values()].filter(
    policy => subjectSelects(policy, pod, namespace) !== 'no',
  );
  return chosen.sort(comparePolicies).map(policyLabel);
}
