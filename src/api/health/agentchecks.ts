/** Checks of the agent itself: whether it reads the cluster, and whether the kernel has the rules for it. */

import type { Ours } from '../../kernel/host/facts.ts';
import type { Rate } from '../../lib/fairness/rates.ts';
import { firstOf } from '../../lib/text/firstof.ts';
import { type Check, finding } from './check.ts';

/** The slice of the agent's status that is judged. Times are milliseconds since 1970. */
export interface Work {
  readonly synced: boolean;
  readonly equalAtMs?: number;
  readonly lastEventAtMs?: number;
  readonly failuresInARow: number;
  readonly lastError?: string;
  readonly lagMs: number;
  /** Pods whose changes wait for a later commit, and the age of the oldest. */
  readonly waitingPods: number;
  readonly waitingMs: number;
  readonly waitingPodNames: readonly string[];
  /** Policies whose changes wait for their turn. */
  readonly waitingPolicies: number;
  readonly waitingPoliciesMs: number;
  readonly waitingPolicyNames: readonly string[];
  /** Sources that cannot be read at present. */
  readonly lostSources: readonly string[];
  /** Policies whose rules the kernel refuses. */
  readonly quarantined: readonly {
    readonly id: string;
    readonly reason: 'refused' | 'no room';
    readonly detail: string;
  }[];
  readonly commits: readonly { readonly atMs: number; readonly operations: number }[];
}

/** The agent looks at the kernel every five seconds at least. */
const STALE_MS = 60_000;
const SLOW_MS = 5_000;
const QUIET_MS = 10 * 60_000;

export function sourcesSynced({ synced, lostSources, equalAtMs }: Work): Check {
  if (synced) return finding.ok('sources-synced', 'every source has been read whole');
  if (lostSources.length > 0 && equalAtMs !== undefined) {
    return finding.fail(
      'sources-synced',
      `${lostSources.join(', ')} cannot be read: what is known is in force, and what is not known allows nothing`,
      "see the agent's log for the reason",
    );
  }
  return finding.fail(
    'sources-synced',
    'a source has not been read whole yet; the rules in force stay as they are',
    "see the agent's log for the source that cannot be read",
  );
}

/** With a misspelt node name no pod is local, so that nothing is enforced although all else is well. */
export function ownNode({ synced }: Pick<Work, 'synced'>, { unknownNode }: Pick<Ours, 'unknownNode'>): Check {
  const name = 'own-node';
  if (unknownNode === undefined) return finding.ok(name, 'the cluster knows this node');
  const reason = `there is no Node ${unknownNode.name} and no pod on it`;
  if (!synced) return finding.unknown(name, `${reason}, as far as the cluster has been read`);
  const others = unknownNode.others.length === 0 ? 'none' : firstOf(unknownNode.others, MOST_NAMED);
  return finding.fail(
    name,
    `${reason} (nodes: ${others}): no policy is enforced here`,
    'start the agent with --node as `kubectl get nodes` shows the name, or wait until the node has registered',
  );
}

export function kernelEqualsDesired(work: Work, nowMs: number): Check {
  const { equalAtMs, lagMs } = work;
  const name = 'kernel-equals-desired';
  if (equalAtMs === undefined) return finding.unknown(name, 'the kernel has not been compared yet');
  const age = nowMs - equalAtMs;
  if (age > STALE_MS) {
    return finding.fail(
      name,
      `the kernel was last known to be right ${ageText(age)} ago`,
      "see the agent's log for the reason; restarting the agent changes no verdict",
    );
  }
  if (lagMs > SLOW_MS) {
    return finding.warn(
      name,
      `a change has been waiting for ${ageText(lagMs)} to come into the kernel`,
      'see whether the node is short of CPU, or another program changes nftables all the time',
    );
  }
  const holds = `the kernel holds what policy says, as of ${ageText(age)} ago`;
  const waiting = waitingTexts(work);
  return finding.ok(name, waiting.length === 0 ? holds : `${holds}, but for ${waiting.join('; ')}`);
}

/** Waiting changes do not make a node unready, or a tenant could do so by editing policies all the time. */
export function waitingTexts(work: WaitingWork): string[] {
  const { waitingPods, waitingMs, waitingPodNames } = work;
  const { waitingPolicies, waitingPoliciesMs, waitingPolicyNames } = work;
  return [
    ...waitingText('pods', waitingPods, waitingMs, waitingPodNames),
    ...waitingText('policies', waitingPolicies, waitingPoliciesMs, waitingPolicyNames),
  ];
}

export type WaitingWork = Pick<
  Work,
  | 'waitingPods'
  | 'waitingMs'
  | 'waitingPodNames'
  | 'waitingPolicies'
  | 'waitingPoliciesMs'
  | 'waitingPolicyNames'
>;

const SHOWN_NAMES = 3;

function waitingText(what: string, count: number, longestMs: number, names: readonly string[]): string[] {
  if (count === 0) return [];
  const shown = names.slice(0, SHOWN_NAMES).join(', ');
  const named = shown === '' ? '' : ` (${shown}${count > SHOWN_NAMES ? ', …' : ''})`;
  return [`${what} that wait for their turn: ${count}${named}, the longest for ${ageText(longestMs)}`];
}

export function lastCommit({ failuresInARow, lastError, commits, equalAtMs }: Work, nowMs: number): Check {
  const name = 'last-commit';
  if (failuresInARow > 0) {
    return finding.fail(
      name,
      `${failuresInARow} failed in a row: ${lastError ?? 'no reason given'}`,
      'the rules in force stay; nftables of this kernel must take the batch that the log names',
    );
  }
  const last = commits[0];
  if (last !== undefined) {
    return finding.ok(name, `${last.operations} operations, ${ageText(nowMs - last.atMs)} ago`);
  }
  if (equalAtMs === undefined) return finding.unknown(name, 'nothing has been committed yet');
  return finding.ok(name, 'none was needed: the actual state was right');
}

/** A warning and no failure: a tenant whose policy is refused must not keep others' pods from the node. */
export function policiesProgrammed({ quarantined }: Work): Check {
  const name = 'policies-programmed';
  const [first] = quarantined;
  if (first === undefined) return finding.ok(name, 'the kernel takes the rules of every policy');
  const more = quarantined.length === 1 ? '' : ` and ${quarantined.length - 1} more`;
  return finding.warn(
    name,
    `${first.reason === 'no room' ? 'there is no room for' : 'the kernel refuses'} the rules of ${first.id}${more}: ${first.detail}`,
    'change the policy; its Event says what is in force instead, and all other policies are programmed',
  );
}

/** A quiet cluster sends nothing for hours: silence is reported, and is no failure. */
export function lastEvent({ lastEventAtMs, lostSources }: Work, nowMs: number): Check {
  const name = 'last-event';
  if (lostSources.length > 0) {
    return finding.warn(
      name,
      `${lostSources.join(', ')} cannot be read; what was last known stays in force`,
      "see the agent's log for the reason",
    );
  }
  if (lastEventAtMs === undefined) return finding.unknown(name, 'no event has come yet');
  const age = nowMs - lastEventAtMs;
  if (age <= QUIET_MS) return finding.ok(name, `${ageText(age)} ago`);
  return finding.warn(
    name,
    `the last event came ${ageText(age)} ago`,
    'nothing to do if the cluster is quiet; else see whether the source still answers',
  );
}

/** `350 ms`, `4 s`, `12 min`, `5 h`. */
export function ageText(ms: number): string {
  const age = Math.max(0, Math.round(ms));
  if (age < 1000) return `${age} ms`;
  if (age < 120_000) return `${Math.round(age / 1000)} s`;
  if (age < 7_200_000) return `${Math.round(age / 60_000)} min`;
  return `${Math.round(age / 3_600_000)} h`;
}

/** Checks of a node on which we attach the pods. */
const ANOTHERS = 'another plugin attaches the pods';
const MOST_NAMED = 3;

export function podAddresses({ attached }: Ours): Check {
  const name = 'pod-addresses';
  if (attached === undefined) return finding.ok(name, ANOTHERS);
  if (attached.refuses === undefined) return finding.ok(name, 'there are free addresses for pods');
  return finding.fail(
    name,
    `${attached.refuses}: further pods must wait, running ones stay as they are`,
    'delete a pod of this node, or give the node a pod CIDR that is large enough',
  );
}

/** A warning only, because a router, or routes of other programs, may lead there. */
export function nodeRoutes({ attached }: Ours): Check {
  const name = 'node-routes';
  if (attached === undefined) return finding.ok(name, ANOTHERS);
  const { unreachable } = attached;
  if (unreachable.length === 0) return finding.ok(name, 'every node with pods is on a link of this node');
  return finding.warn(
    name,
    `no link leads to ${firstOf(unreachable, MOST_NAMED)}`,
    'Sluice builds no overlay: have the router between the nodes lead there, or use a network plugin that tunnels, such as Flannel',
  );
}

// Whether two pods, or two nodes, of the cluster claim one address.

/** A warning and not a failure: a kubelet of another node must not be able to keep pods off this one. */
export function addressOwnersKnown({
  contested = [],
  contestedTunnels = [],
  listedByNodes = [],
}: Pick<Ours, 'contested' | 'contestedTunnels' | 'listedByNodes'>): Check {
  const name = 'address-owners';
  const [first] = contested;
  if (first === undefined && contestedTunnels.length > 0)
    return finding.warn(
      name,
      `several nodes, or pods of others, claim the tunnel address of a node; policies that admit the node do not let in what comes from it: ${firstOf(contestedTunnels, MOST_NAMED)}`,
      'give each node a spec.podCIDR of its own; see who writes the annotations of these nodes, and the status of these pods',
    );
  if (first === undefined && listedByNodes.length > 0)
    return finding.warn(
      name,
      `a Node lists an address that a pod or another Node has; rules for the node mean the other, too: ${firstOf(listedByNodes, MOST_NAMED)}`,
      'see who writes the status of these Nodes, and that of the pod',
    );
  if (first === undefined)
    return finding.ok(
      name,
      'no address is reported by pods of two nodes, nor by a pod and a node, nor claimed by two nodes',
    );
  const more = contested.length === 1 ? '' : `, and ${contested.length - 1} more addresses`;
  return finding.warn(
    name,
    `pods of several nodes report one address; it is taken to belong to the first: ${first}${more}`,
    'delete the pod that does not run; if it comes again, see who writes the status of pods of its node',
  );
}

// The check of this kernel's features.

/** Facts about this node's kernel. */
export interface KernelFacts {
  /** `6.1.0-50-amd64` */
  readonly release: string;
  /** The features that the kernel lacks, the version of Linux that has each, and what is done instead. */
  readonly missingFeatures: readonly {
    readonly lacks: string;
    readonly since: string;
    readonly instead: string;
    /** Whether the missing feature costs correctness or security, and not only speed. */
    readonly matters: boolean;
  }[];
}

export const NOTHING_MISSING: KernelFacts = { release: '', missingFeatures: [] };

export function kernelFeatures({ release, missingFeatures }: KernelFacts): Check {
  const name = 'kernel-features';
  const kernel = `Linux ${release}`.trim();
  if (missingFeatures.length === 0) return finding.ok(name, `${kernel} has all that Sluice makes use of`);
  const list = missingFeatures.map(({ lacks, since, instead }) => `${lacks}, since ${since}: ${instead}`);
  const reason = `${kernel} has no ${list.join('; no ')}`;
  const grave = missingFeatures.find(({ matters }) => matters);
  if (grave === undefined) return finding.ok(name, reason);
  return finding.warn(name, reason, `have Linux ${grave.since} or newer on this node`);
}

// The check of denied connections: are they named?

/** The Services that name denials. */
export interface ServicesFacts {
  readonly known: number;
  /** Why some have no name. */
  readonly problem?: string;
}

/** Counts of packets since `sinceMs`; `attempts` are of connections. */
export interface DenialsFacts {
  readonly sinceMs: number;
  /** Absent where nothing is handed over to be named. */
  readonly limits?: { readonly perSource: Rate; readonly inAll: Rate };
  /** Why nothing is named. */
  readonly error?: string;
  /** Absent where nothing is named. */
  readonly services?: ServicesFacts;
  readonly denied: number;
  /** Denied packets that were handed over within the limits. */
  readonly handed: number;
  readonly attempts: number;
  readonly read: number;
  /** Handed over, and not read in time, or not to be read or named. */
  readonly lost: number;
}

export const NO_DENIALS: DenialsFacts = { sinceMs: 0, denied: 0, handed: 0, attempts: 0, read: 0, lost: 0 };

const NAME = 'denials';

/** A warning at most, because denials work without it. */
export function denials({ limits, error, services, denied, handed, attempts, lost }: DenialsFacts): Check {
  if (error !== undefined)
    return finding.warn(NAME, `denied connections are counted, and not named: ${error}`, remedyOf(error));
  if (limits === undefined)
    return finding.ok(NAME, 'denied connections are counted, and not named, as the agent was asked');
  const missed = lost === 0 ? '' : `; ${lost} were not read`;
  const text = `${attempts} denied connections were named, of ${denied} packets that were denied ${handed} within the limits${missed}`;
  const unnamed = services?.problem === undefined ? '' : `; Services have no names: ${services.problem}`;
  return finding.ok(NAME, text + unnamed);
}

function remedyOf(error: string): string {
  return /another process/.test(error)
    ? 'end the other reader of the log group (ulogd?); where it is to stay, nothing needs to be done: --denials=0 would end its lines too'
    : "see the agent's log";
}
