/** What an agent tells of, as a recording has it. */
import type { Denial, DenialEnd } from '../denials/denial.ts';
import type { FlowEnd, SeenFlow } from '../flows/seenflow.ts';
import { namespaceOfPod, type Pod, type PodKey } from '../model/cluster.ts';
import type { CountedFlow } from '../model/countedflows.ts';
import type { Flow } from '../model/flow.ts';
import type { Direction } from '../model/policy.ts';
import type { Owners } from '../semantics/view.ts';
import type { RecordedEnd, RecordedFlow } from './recording.ts';

/** Pods by their names, as far as somebody knows them. */
export type Pods = Pick<ReadonlyMap<PodKey, Pod>, 'get'>;

export function ofSeen({ from, to, service, directions, atMs, ...rest }: SeenFlow, pods: Pods): RecordedFlow {
  const viaService = service !== undefined && service.address !== to.address;
  return counted(
    { from: endOf(from, pods), to: endOf(to, pods), ...rest, viaService },
    'allow',
    directions,
    atMs,
  );
}

/** Undefined where it was not policy that denied it: no policy could allow it. */
export function ofDenial({ from, to, cause, atMs, ...rest }: Denial, pods: Pods): RecordedFlow | undefined {
  const { kind, direction } = cause;
  if (direction === undefined || (kind !== 'policy' && kind !== 'unknown-pod')) return undefined;
  return counted({ from: endOf(from, pods), to: endOf(to, pods), ...rest }, 'deny', [direction], atMs);
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
  return directions.length === 0
    ? undefined
    : counted({ ...flow, from, to }, 'allow', directions, atMs, count);
}

type Ends = Pick<RecordedFlow, 'from' | 'to'>;
type What = Ends & Pick<Flow, 'protocol' | 'port' | 'viaService'>;

function counted(
  { from, to, protocol, port, viaService }: What,
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
    // It makes a difference to a pod that reaches itself, and to nobody else (N61).
    ...(viaService && isItself && { viaService }),
    was,
    egress: directions.includes('egress') ? count : 0,
    ingress: directions.includes('ingress') ? count : 0,
    firstMs: atMs,
    lastMs: atMs,
  };
}

function endOf(end: FlowEnd | DenialEnd, pods: Pods): RecordedEnd {
  if (end.pod === undefined) return { address: end.address };
  return { address: end.address, pod: pods.get(end.pod) ?? podToldOf(end.pod, end) };
}

/** A pod of which nobody knows more than was told. */
function podToldOf(key: PodKey, { labels }: FlowEnd): Pod {
  return {
    key,
    namespace: namespaceOfPod(key),
    name: key.slice(key.indexOf('/') + 1),
    node: '',
    labels: labels ?? {},
    ...(labels === undefined && { partial: true }),
    addresses: [],
    hostNetwork: false,
    finished: false,
    createdAt: '',
    ports: [],
  };
}
