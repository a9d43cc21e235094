/**
 * The condition by which a node's network says whether it takes further pods. Of `NetworkUnavailable` the controller
 * manager makes the taint node.kubernetes.io/network-unavailable:NoSchedule, which keeps new pods away and leaves those
 * that run alone; pods of the host's network tolerate it where a DaemonSet makes them.
 */

/** As CamelCase word, and as a sentence. */
export interface Unavailable {
  readonly reason: string;
  readonly message: string;
}

const NETWORK_UNAVAILABLE = 'NetworkUnavailable';
/** Of NodeCondition.message nobody says how long it may be; kubectl shows it in one line. */
const LONGEST = 1024;

export function nodeStatusPath(node: string): string {
  return `/api/v1/nodes/${encodeURIComponent(node)}/status`;
}

/** A strategic merge patch: other conditions stay as they are. Undefined: the network is available. */
export function conditionPatch(unavailable: Unavailable | undefined, since: Date, at: Date): object {
  const { reason, message } = unavailable ?? { reason: 'PodNetworkReady', message: 'Sluice attaches pods' };
  const condition = {
    type: NETWORK_UNAVAILABLE,
    status: unavailable === undefined ? 'False' : 'True',
    reason,
    message: message.slice(0, LONGEST),
    lastTransitionTime: timeText(since),
    lastHeartbeatTime: timeText(at),
  };
  return { status: { conditions: [condition] } };
}

/** metav1.Time has whole seconds. */
function timeText(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, 'Z');
}
