/** Converts the messages of an agent to the form of a recording. */

import type { Pod } from '../../model/cluster.ts';
import type { CountedFlow } from '../../model/countedflows.ts';
import type { Flow } from '../../model/flow.ts';
import type { Direction } from '../../model/policy.ts';
import type { Owners } from '../../semantics/view.ts';
import type { Denial, DenialEnd } from '../denials/denial.ts';
import { flowOfDenial } from '../denials/flowofdenial.ts';
import type { SeenFlow } from '../flows/seenflow.ts';
import { countsOf, type RecordedEnd, type RecordedFlow } from './recording.ts';

/** Finds the pod that an end was. */
export type PodOf = (end: DenialEnd) => Pod | undefined;

export function ofSeen(
  { from, to, service, directions, atMs, ...rest }: SeenFlow,
  podOf: PodOf,
): RecordedFlow {
  const viaService = service !== undefined && service.address !== to.address;
  const ends = { from: endOf(from, podOf), to: endOf(to, podOf) };
  return counted({ ...ends, ...rest, viaService }, 'allow', directions, atMs);
}

/** Undefined where it was not policy that denied it: no policy could allow it. */
export function ofDenial(denial: Denial, podOf: PodOf): RecordedFlow | undefined {
  if (!isOfPolicy(denial)) return undefined;
  const { from, to, names, cause, atMs } = denial;
  const ends = { from: endOf(from, podOf), to: endOf(to, podOf), ...(names && { names }) };
  return counted({ ...flowOfDenial(denial), ...ends }, 'deny', [cause.direction!], atMs);
}

/** Whether policy denied it: otherwise no policy could have allowed it. */
export function isOfPolicy({ cause: { kind, direction } }: Pick<Denial, 'cause'>): boolean {
  return direction !== undefined && (kind === 'policy' || kind === 'unknown-pod');
}

/** Open when the recording began; undefined where neither end is a pod of the node. */
export function ofOpen(
  { flow, count }: CountedFlow,
  owners: Owners,
  node: string,
  atMs: number,
): RecordedFlow | undefined {
  const end = (address: Flow['from']): RecordedEnd => {
    const pod = owners.get(address);
    return { address, ...(pod && { pod }) };
  };
  const [from, to] = [end(flow.from), end(flow.to)];
  const directions: Direction[] = [];
  if (from.pod?.node === node) directions.push('egress');
  if (to.pod?.node === node) directions.push('ingress');
  if (directions.length === 0) return undefined;
  const open = counted({ ...flow, from, to }, 'allow', directions, atMs, count);
  return { ...open, ...countsOf({ ...open, openEgress: open.egress, openIngress: open.ingress }) };
}

type Ends = Pick<RecordedFlow, 'from' | 'to'>;
type What = Ends & Pick<Flow, 'protocol' | 'port' | 'viaService'> & Pick<SeenFlow, 'names'>;

function counted(
  { from, to, protocol, port, viaService, names }: What,
  was: RecordedFlow['was'],
  directions: readonly Direction[],
  atMs: number,
  count = 1,
): RecordedFlow {
  const isItself = from.address === to.address || (from.pod !== undefined && from.pod.key === to.pod?.key);
  return {
    from,
    to,
    protocol,
    ...(port !== undefined && { port }),
    // It matters only for a pod that reaches itself (N61).
    ...(viaService && isItself && { viaService }),
    ...(names !== undefined && { names }),
    was,
    egress: directions.includes('egress') ? count : 0,
    ingress: directions.includes('ingress') ? count : 0,
    firstMs: atMs,
    lastMs: atMs,
  };
}

function endOf(end: DenialEnd, podOf: PodOf): RecordedEnd {
  const pod = podOf(end);
  return { address: end.address, ...(pod && { pod }) };
}
