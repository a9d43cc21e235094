/** What a question is asked of. */
import type { Cluster } from '../../model/cluster.ts';
import type { Inventory } from '../../model/inventory.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { Problem } from '../../model/problem.ts';
import type { LabelSelector } from '../../model/selector.ts';
import type { DnsSnapshot } from '../../names/dnscache.ts';

export interface State {
  readonly cluster: Cluster;
  readonly inventory: Inventory;
  /** What becomes of addresses of pod networks that no known pod has; absent where it is not known. */
  readonly unknownPods?: UnknownPods;
  /** What pods were told by DNS; absent where no agent was asked. */
  readonly known?: DnsSnapshot;
  /** What is wrong with the objects that were read. */
  readonly problems: readonly Problem[];
  /** A sentence for each thing that could not be read, and what the answer lacks by it; and which policies are audited. */
  readonly notes: readonly string[];
  /** There may be policies that nobody could look at: no verdict is one. */
  readonly hidesPolicies: boolean;
  /** Of a live cluster: whether the caller may not list what is of that plural, in that namespace. */
  readonly mayNotList?: (plural: string, namespace?: string) => boolean;
  /** Whether Services and workloads were asked for, and could be: a name that is not there does not exist. */
  readonly knowsInventory: boolean;
  /** `the manifests`, `context kind of the kubeconfig`, `the agent's cluster`. */
  readonly source: string;
  readonly scope: Scope;
}

/** What lists are about, and where names are looked for. */
export interface Scope {
  /** Of names that say none. */
  readonly defaultNamespace: string;
  /** Absent: all of them. */
  readonly namespace?: string;
  /** Absent: whatever its labels. */
  readonly selector?: LabelSelector;
}
