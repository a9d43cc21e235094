/** What makes pods: policy never sees it, but people name their programs by it. Pure data, as in cluster.ts. */
import type { ContainerPort, PodKey } from './cluster.ts';
import type { Labelled } from './selector.ts';

export const WORKLOAD_KINDS = [
  'Deployment',
  'StatefulSet',
  'DaemonSet',
  'ReplicaSet',
  'ReplicationController',
  'Job',
  'CronJob',
] as const;

export type WorkloadKind = (typeof WORKLOAD_KINDS)[number];

/** `Deployment shop/web`. */
export type WorkloadId = `${WorkloadKind} ${string}/${string}`;

/** The object that controls another one: the one of its ownerReferences that says so. */
export interface Controller {
  readonly kind: string;
  readonly name: string;
}

/** Labels are those of its template, so of each pod that it makes. */
export interface Workload extends Labelled {
  readonly id: WorkloadId;
  readonly kind: WorkloadKind;
  readonly namespace: string;
  readonly name: string;
  /** Named ports of its containers and restartable init containers (4.14). */
  readonly ports: readonly ContainerPort[];
  readonly hostNetwork: boolean;
  /** The pods that it should have; absent where it makes one when its time comes, or one for each node. */
  readonly replicas?: number;
  /** The Deployment of a ReplicaSet, the CronJob of a Job. */
  readonly owner?: Controller;
}

export function workloadId(kind: WorkloadKind, namespace: string, name: string): WorkloadId {
  return `${kind} ${namespace}/${name}`;
}

export function isWorkloadKind(kind: string): kind is WorkloadKind {
  return (WORKLOAD_KINDS as readonly string[]).includes(kind);
}

/** A pod that nothing owns stands for itself. */
export type PodOrWorkload =
  | { readonly kind: WorkloadKind; readonly id: WorkloadId }
  | { readonly kind: 'Pod'; readonly id: `Pod ${PodKey}` };
