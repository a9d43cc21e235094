/** What every service and the metrics show of the agent. The composition root fills it in. */
import type { ProgrammedPod, StatusKeeper } from '../../agent/status.ts';
import type { Pod, PodKey } from '../../model/cluster.ts';
import type { CountedFlow } from '../../model/countedflows.ts';
import type { Direction } from '../../model/policy.ts';
import type { DnsCache } from '../../names/dnscache.ts';
import type { CniParts } from '../../network/cni/cni.ts';
import type { Denial } from '../../observe/denials/denial.ts';
import type { FlowSource } from '../../observe/flows/source.ts';
import type { AuditTotal } from '../../observe/recording/audittally.ts';
import type { DenialsFacts } from '../health/agentchecks.ts';
import type { Health } from '../health/health.ts';
import type { DnsFacts } from '../health/namescheck.ts';
import type { PodStarts } from '../health/startchecks.ts';

/** Peers by name, as whoever hears answers has them. */
export interface NamesView {
  readonly status: () => DnsFacts;
  /** All that was heard before the call. Absent where nobody hears. */
  readonly cache: () => Promise<DnsCache | undefined>;
}

/** Denied connections, as whoever names them has them. */
export interface DenialsView {
  facts(): Promise<DenialsFacts>;
  /** The oldest first. */
  denials(): readonly Denial[];
  /** Tells of every denial from now on; the answer ends it. */
  follow(follower: (denial: Denial) => void): () => void;
}

/** What the rules of policy have counted, where they count. */
export interface CountsView {
  read(): Promise<CountsTotals>;
}

/** What rules of the same policies that do the same have matched. */
export interface CountedTotal {
  readonly direction: Direction;
  readonly action: 'accept' | 'drop' | 'pass';
  readonly source: string;
  readonly packets: number;
  /** As of the last time that all rules were read. */
  readonly isInForce: boolean;
}

interface CountsTotals {
  values(): Iterable<CountedTotal>;
  /** Chains that went before they could be read. */
  readonly unreadChains: number;
}

/** What audited policies would have made of the connections of this node. */
export interface AuditsView {
  readonly totals: readonly AuditTotal[];
  readonly unjudged: number;
}

/** What of the agent never changes. */
export interface Identity {
  /** `net:[4026531840]`. */
  readonly networkNamespace: string;
  /** Open connections that policy comes to deny are cut, and guarded against coming back. */
  readonly cutsConnections: boolean;
}

export interface AgentView {
  readonly identity: Identity;
  readonly keeper: StatusKeeper;
  health(): Promise<Health>;
  /** What becomes of pods that start. */
  starts(): PodStarts;
  pod(key: PodKey): ProgrammedPod | undefined;
  /** Labels of the policies that select the pod. */
  policiesOf(key: PodKey): readonly string[];
  /** What pods of this node are told by DNS. */
  readonly names: NamesView;
  readonly denials: DenialsView;
  /** New connections, while somebody asks. */
  readonly flows: FlowSource;
  /** Absent where rules do not count. */
  readonly counts?: CountsView;
  readonly audits: AuditsView;
  requestResync(): void;
  /** Pods with changes that are not in force: as the rules in force have them, or nothing where they know none. */
  podsInForce(): ReadonlyMap<PodKey, Pod | undefined>;
  /** Of this node's pods, now. */
  openConnections(): Promise<readonly CountedFlow[]>;
  /** Where pods come to us before they start. */
  readonly pods?: CniParts;
}
