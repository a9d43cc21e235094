/** Judges recorded flows by any policies: by the reference, with source and destination as they were recorded. */
import type { Address } from '../../model/address.ts';
import type { Cluster, Pod } from '../../model/cluster.ts';
import { matchesDomainName } from '../../model/domainname.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import { evaluatorOf, type FlowVerdict } from '../../semantics/evaluate.ts';
import { type Owners, viewBy } from '../../semantics/view.ts';
import { policyFlow, type RecordedFlow, type Recording } from './recording.ts';

/** Policies, and namespaces that are known better than from the recording: their labels replace the recorded ones. */
export type Judging = Pick<Cluster, 'policies'> & Partial<Pick<Cluster, 'namespaces'>>;

/** Returns a function that judges flows of the recording one by one, each in a cluster of its own. */
export function recordingJudge(
  recording: Pick<Recording, 'namespaces' | 'nodes' | 'unknownPods'>,
  judging: Judging,
  unknownPods: UnknownPods = recording.unknownPods,
): (flow: RecordedFlow) => FlowVerdict {
  const ends = new Ends();
  const cluster: Cluster = {
    namespaces: new Map([...recording.namespaces, ...(judging.namespaces ?? [])]),
    nodes: recording.nodes,
    pods: new Map(),
    policies: judging.policies,
    resolved: { has: (pod, address, pattern) => ends.hadResolved(pod, address, pattern) },
  };
  const judge = evaluatorOf(viewBy(ends, cluster, unknownPods));
  return flow => {
    ends.flow = flow;
    return judge(policyFlow(flow));
  };
}

/** Source and destination of one flow: a minute before, another pod may have had an address. */
class Ends implements Owners {
  flow: RecordedFlow | undefined;

  get(address: Address): Pod | undefined {
    if (address === this.flow?.from.address) return this.flow.from.pod;
    return address === this.flow?.to.address ? this.flow.to.pod : undefined;
  }

  has(address: Address): boolean {
    return this.get(address) !== undefined;
  }

  hadResolved(pod: string, address: Address, pattern: string): boolean {
    const { from, to, names = [] } = this.flow ?? {};
    if (from?.pod?.key !== pod || to?.address !== address) return false;
    return names.some(name => name === pattern || matchesDomainName(pattern, name));
  }
}
