/** What is programmed, as data: by pod, direction and rule. */
import type { Family } from '../../model/address.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';

export interface Inspection {
  /** Whether our tables are there at all. */
  readonly installed: boolean;
  readonly pods: readonly PodInspection[];
  /** What becomes of addresses of the node's pod networks that no known pod has. */
  readonly unknownPods: UnknownPods;
  /** Over both families. */
  readonly totals: { readonly chains: number; readonly sets: number; readonly elements: number };
}

export interface PodInspection {
  /** `namespace/name`, as the kernel has it in a comment. */
  readonly pod: string;
  readonly addresses: readonly string[];
  /** Absent: no policy affects the direction. */
  readonly ingress?: DirectionInspection;
  readonly egress?: DirectionInspection;
  /** Where its rules look for names: what it was told by DNS. */
  readonly names?: readonly NamesInspection[];
}

/** The names of a run of rules, and the addresses that are allowed by them now. */
export interface NamesInspection {
  readonly set: string;
  /** `domains logs.example, *.cloud.example`; of very many the first. */
  readonly peers: string;
  /** Those that stand longest come first; of very many, these. */
  readonly addresses: readonly { readonly address: string; readonly leftSeconds: number }[];
  readonly total: number;
}

export interface DirectionInspection {
  readonly chain: string;
  /** In the order in which the kernel asks; the last one has no condition. */
  readonly rules: readonly RuleInspection[];
}

export interface RuleInspection {
  readonly verdict: 'accept' | 'drop' | 'pass';
  /** `tcp 5432`, or absent where the port does not matter. */
  readonly ports?: string;
  /** `pods app=api in namespace shop`, or absent where the peer does not matter. */
  readonly peers?: string;
  /** The policy rule that it came from; absent where no policy decided. */
  readonly source?: string;
  /** Where the pod has addresses of both families, and only this one has the rule. */
  readonly family?: Family;
  /** New connections, or denied packets, that rules from this source have matched on the node since they were written. */
  readonly matched?: number;
  /** How long before it was read that was last; absent where it never was, or where the kernel does not remember. */
  readonly lastMatchedMsAgo?: number;
}
