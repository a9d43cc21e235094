/**
 * The workload of a pod, by the labels that controllers give to their pods: the agent keeps no owners. A tenant may write the same
 * labels, and so give any workload's name to a pod of its own namespace.
 */
import type { Pod } from './cluster.ts';
import type { Labels } from './labels.ts';
import { type WorkloadId, type WorkloadKind, workloadId } from './workload.ts';

/** Undefined where no controller's label is there, or the pod's name is not made as that controller makes it. */
export function workloadByLabels(pod: Pick<Pod, 'namespace' | 'name' | 'labels'>): WorkloadId | undefined {
  for (const find of FINDERS) {
    const found = find(pod);
    if (found !== undefined) return workloadId(found.kind, pod.namespace, found.name);
  }
  return undefined;
}

type Named = Pick<Pod, 'name' | 'labels'>;
type Found = { readonly kind: WorkloadKind; readonly name: string } | undefined;

const FINDERS: readonly ((pod: Named) => Found)[] = [deployment, statefulSet, job, daemonSet];

/** `web-7d4b9c6f5-x2x9k` */
function deployment({ name, labels }: Named): Found {
  const generation = /^(.+)-[^-]*$/.exec(name)?.[1];
  return named('Deployment', generation === undefined ? undefined : deploymentName(generation, labels));
}

/** Of the ReplicaSet `web-7d4b9c6f5`: a Deployment names its own after itself and a hash, which is also a label of their pods. */
export function deploymentName(replicaSet: string, labels: Labels): string | undefined {
  const hash = labels['pod-template-hash'];
  return hash !== undefined && replicaSet.endsWith(`-${hash}`)
    ? replicaSet.slice(0, -hash.length - 1)
    : undefined;
}

/** `db-0` */
function statefulSet({ name, labels }: Named): Found {
  if (labels['statefulset.kubernetes.io/pod-name'] !== name) return undefined;
  return named('StatefulSet', /^(.+)-\d+$/.exec(name)?.[1]);
}

function job({ labels }: Named): Found {
  return named('Job', labels['batch.kubernetes.io/job-name'] ?? labels['job-name']);
}

/** `agent-x2x9k` */
function daemonSet({ name, labels }: Named): Found {
  if (labels['controller-revision-hash'] === undefined) return undefined;
  return named('DaemonSet', /^(.+)-[a-z0-9]{5}$/.exec(name)?.[1]);
}

function named(kind: WorkloadKind, name: string | undefined): Found {
  return name === undefined || name === '' ? undefined : { kind, name };
}
