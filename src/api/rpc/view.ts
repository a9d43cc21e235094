/**
 * The agent as sockets, probes and metrics see it: its parts, under the names that they have in daemon/enforcement.ts
 * and daemon/pipeline.ts, and facts of the machine (nodeview.ts).
 */
import type { Agent } from '../../agent/agent.ts';
import type { StatusKeeper } from '../../agent/status.ts';
import type { CountedFlow } from '../../model/countedflows.ts';
import type { Direction } from '../../model/policy.ts';
import type { DnsCache } from '../../names/dnscache.ts';
import type { CniParts } from '../../network/cni/cni.ts';
import type { Denial } from '../../observe/denials/denial.ts';
import type { FlowSource } from '../../observe/flows/source.ts';
import type { AuditTotal } from '../../observe/recording/audittally.ts';
import type { DenialsFacts, KernelFacts } from '../health/agentchecks.ts';
import type { Health } from '../health/health.ts';
import type { DnsFacts } from '../health/namescheck.ts';
import type { PodStarts } from '../health/startchecks.ts';
import type { DnsTotals } from './namesmetrics.ts';

/** The start gate. */
export interface GateView {
  status(): PodStarts;
  readonly counts: { readonly inTime: number; readonly late: number; readonly withoutAddress: number };
  /** How many milliseconds each pod waited that has started since the last call. */
  takeWaits(): readonly number[];
}

/** DNS answers of the node's pods. */
interface DnsView {
  status(): DnsFacts;
  /** The cache with every answer from before the call; undefined if answers are not read. */
  latest(): Promise<DnsCache | undefined>;
  totals(): DnsTotals;
}

/** Denied connections. */
interface DenialsView {
  facts(): Promise<DenialsFacts>;
  /** The oldest first. */
  denials(): readonly Denial[];
  /** Calls the follower for each denial from now on, until the returned function is called. */
  follow(follower: (denial: Denial) => void): () => void;
}

/** The counters of policy rules, on an agent that counts. */
export interface CountsView {
  read(): Promise<CountsTotals>;
}

/** The count of all rules of the same policies with the same action. */
export interface CountedTotal {
  readonly direction: Direction;
  readonly action: 'accept' | 'drop' | 'pass';
  readonly source: string;
  readonly packets: number;
  /** Whether the rule was there when all rules were last read. */
  readonly isInForce: boolean;
}

interface CountsTotals {
  values(): Iterable<CountedTotal>;
  /** Chains that went before they could be read. */
  readonly unreadChains: number;
}

/** The verdicts that audited policies would have had on the connections of this node. */
export interface AuditsView {
  readonly totals: readonly AuditTotal[];
  readonly unjudged: number;
}

/** Facts that never change while the agent runs. */
export interface Identity {
  /** `net:[4026531840]`. */
  readonly networkNamespace: string;
  /** Open connections that policy comes to deny are cut, and guarded against coming back. */
  readonly cutsConnections: boolean;
}

/** Facts that are read from the machine on request. */
export interface NodeView {
  readonly identity: Identity;
  health(): Promise<Health>;
  /** The open connections of this node's pods. */
  openConnections(): Promise<readonly CountedFlow[]>;
}

export interface AgentView extends NodeView {
  readonly status: StatusKeeper;
  readonly agent: Pick<Agent, 'requestResync' | 'podsInForce'>;
  readonly kernelFeatures: KernelFacts;
  readonly gate: GateView;
  readonly dns: DnsView;
  readonly denials: DenialsView;
  readonly flows: FlowSource;
  readonly audits: AuditsView;
  /** Absent where open connections are left alone. */
  readonly liveConnections?: { readonly counts: { readonly cut: number } } | undefined;
  /** Absent where rules do not count. */
  readonly counts?: CountsView | undefined;
  /** Absent where pods are not attached or announced by us. */
  readonly podNetwork?: CniParts | undefined;
}
