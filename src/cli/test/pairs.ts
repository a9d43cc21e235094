/** Every pair of pods of a cluster, and which of them must be closed. */

import { familyOf } from '../../model/address.ts';
import { type Cluster, isSelectable, type Pod, type PodKey } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import type { Protocol } from '../../model/policy.ts';
import { CommandError } from '../../terminal/commanderror.ts';

/** A flow, and what is expected of it. */
export interface PairExpectation {
  readonly text: string;
  readonly verdict: 'allow' | 'deny';
  readonly flow: Flow;
}

export interface ExpectedMatrix {
  readonly port: number;
  readonly protocol?: Protocol;
  /** Only one address family; both where it is left out. */
  readonly family?: 4 | 6;
  /** `FROM -> TO`, each `*`, `namespace/*` or `namespace/pod`. All other pairs are open. */
  readonly deny: readonly string[];
}

/** One expectation for each pair of pods and each family that both have; none from a pod to itself. */
export function expandMatrix(cluster: Cluster, matrix: ExpectedMatrix): PairExpectation[] {
  const pods = [...cluster.pods.values()].filter(pod => isSelectable(pod) && pod.addresses.length > 0);
  const closed = matrix.deny.map(pattern => compilePattern(pattern, pods));
  return pods.flatMap(from =>
    pods
      .filter(to => to !== from)
      .flatMap(to => {
        const isClosed = closed.some(matches => matches(from.key, to.key));
        return pairOf(from, to, matrix, isClosed ? 'deny' : 'allow');
      }),
  );
}

function pairOf(from: Pod, to: Pod, matrix: ExpectedMatrix, verdict: 'allow' | 'deny'): PairExpectation[] {
  const { port, protocol = 'TCP', family } = matrix;
  const wanted = family && (family === 4 ? 'ip' : 'ip6');
  return from.addresses
    .filter(address => wanted === undefined || familyOf(address) === wanted)
    .flatMap(source => {
      const destination = to.addresses.find(address => familyOf(address) === familyOf(source));
      if (destination === undefined) return [];
      const text = `${from.key} -> ${to.key}@${familyOf(source) === 'ip' ? 4 : 6}:${port}/${protocol}`;
      return [{ text, verdict, flow: { from: source, to: destination, protocol, port } }];
    });
}

function compilePattern(pattern: string, pods: readonly Pod[]): (from: PodKey, to: PodKey) => boolean {
  const ends = pattern.split(' -> ');
  const [from, to] = ends.map(end => keysOf(end, pods));
  // A pattern that names nobody would forbid nothing.
  if (!from?.size || !to?.size || ends.length !== 2)
    throw new CommandError(`matrix: "${pattern}" names no pods`);
  return (source, destination) => from.has(source) && to.has(destination);
}

function keysOf(end: string, pods: readonly Pod[]): Set<PodKey> {
  const matches = (pod: Pod) =>
    end === '*' || end === pod.key || (end.endsWith('/*') && end === `${pod.namespace}/*`);
  return new Set(pods.filter(matches).map(pod => pod.key));
}
