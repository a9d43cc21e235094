/** A pod's sandbox, as the runtime reports it. */
import { type Address, parseAddress } from '../../model/address.ts';
import type { PodKey } from '../../model/cluster.ts';
import type { Labels } from '../../model/selector.ts';
import type { PodSandbox } from '../nri/messages.ts';

export interface Sandbox {
  readonly id: string;
  readonly key: PodKey;
  readonly uid: string;
  /** Absent where it was not reported: CNI has none. */
  readonly labels?: Labels;
  /** Empty for a pod in the host's network, and where the runtime does not report them. */
  readonly addresses: readonly Address[];
  /** Whether it has a network namespace of its own. */
  readonly ownNetwork: boolean;
  /**
   * Whether the code that attaches pods reported it, and not the runtime; its id is then the name of the interface at
   * the node's side.
   */
  readonly attached?: boolean;
}

/** The sandbox in a message; undefined if the message does not name the pod. */
export function sandboxOf({ id, namespace, name, uid, labels, ips, linux }: PodSandbox): Sandbox | undefined {
  if (id === '' || !isName(namespace) || !isName(name)) return undefined;
  return {
    id,
    key: `${namespace}/${name}`,
    uid,
    labels: Object.fromEntries(Object.entries(labels).filter(([label]) => !KUBELETS.has(label))),
    addresses: [...new Set(ips.map(parseAddress).filter(address => address !== undefined))],
    ownNetwork: ips.length > 0 || (linux?.namespaces.some(({ type }) => type === 'network') ?? false),
  };
}

/** A key is split at its first slash. */
function isName(text: string): boolean {
  return text !== '' && !text.includes('/');
}

/** Labels that the kubelet adds to a pod's own ones when it asks the runtime for its sandbox. */
const KUBELETS: ReadonlySet<string> = new Set([
  'io.kubernetes.pod.name',
  'io.kubernetes.pod.namespace',
  'io.kubernetes.pod.uid',
]);
