/** The messages of sluice.proto as proto-loader makes them. Times are milliseconds since 1970, 0 where there is none. */
import type { ObjectCounts, Totals } from '../../agent/status.ts';
import type { StatusText } from '../../model/policystatus.ts';
import type { Check } from '../health/check.ts';

export interface StatusResponse {
  readonly node: string;
  readonly ready: boolean;
  readonly synced: boolean;
  readonly started_at_ms: number;
  readonly equal_at_ms: number;
  readonly last_event_at_ms: number;
  readonly pending_events: number;
  readonly lag_ms: number;
  readonly checks: readonly Check[];
  readonly commits: readonly {
    readonly at_ms: number;
    readonly operations: number;
    readonly took_ms: number;
    readonly names: readonly string[];
    readonly repairs: boolean;
  }[];
  readonly problems: readonly { readonly severity: string; readonly object: string; readonly text: string }[];
  readonly objects: ObjectCounts;
  readonly totals: Totals;
  /** `net:[4026531840]`. */
  readonly network_namespace: string;
  readonly cuts_connections: boolean;
  readonly denies_unknown_pods: boolean;
  readonly waiting_pods: number;
  readonly waiting_ms: number;
  readonly waiting_pod_names: readonly string[];
  readonly waiting_policies: number;
  readonly waiting_policies_ms: number;
  readonly waiting_policy_names: readonly string[];
  readonly policies: readonly PolicyStatusMessage[];
  readonly policies_in_all: number;
}

/** The status of a policy that is not in force as written. */
export type PolicyStatusMessage = StatusText;

export interface ToldName {
  readonly pod: string;
  readonly name: string;
  readonly one_of: readonly string[];
  readonly address: string;
  readonly told_at_ms: number;
  readonly until_ms: number;
  readonly from: string;
}

export interface DropsRequest {
  readonly follow: boolean;
}

export interface DropsResponse {
  /** JSON of DenialsFacts; empty but in the first. */
  readonly facts: string;
  /** JSON of Denial; empty in the first. */
  readonly denial: string;
  readonly skipped: number;
  readonly ends_recorded: boolean;
}

export interface FlowsResponse {
  /** JSON of FlowsFacts; empty but in the first. */
  readonly facts: string;
  /** JSON of SeenFlow[]; empty where there is none. */
  readonly flows: string;
  /** JSON of Denial[]; empty where there is none. */
  readonly denials: string;
  readonly lost: number;
  readonly skipped: number;
}

export interface StateObject {
  readonly type: string;
  readonly key: string;
  readonly json: string;
  /** The pod as the rules in force have it; empty or absent if that is the pod in `json`. */
  readonly in_force?: string;
  /**
   * If the rules have another version of the pod's namespace: its number; the first message with a number has the
   * namespace itself.
   */
  readonly namespace_before?: number;
  readonly namespace_json?: string;
  /** The statuses of a policy; absent for other objects, and in dumps of earlier versions. */
  readonly statuses?: readonly PolicyStatusMessage[];
}

/** All connections from one address to another and to one port; the port is 0 if the protocol has none. */
export interface OpenConnections {
  readonly from: string;
  readonly to: string;
  readonly protocol: string;
  readonly port: number;
  readonly via_service: boolean;
  readonly count: number;
}
