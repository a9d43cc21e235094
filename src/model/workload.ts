/** Controllers of pods: policy never sees them, but people name their programs by them. Pure data, as in cluster.ts. */
import type { ContainerPort, PodKey } from './cluster.ts';
import type { Labelled, LabelSelector } from './selector.ts';

export const WORKLOAD_KINDS = [
  'Deployment',
  'StatefulSet',
  'DaemonSet',
  'ReplicaSet',
  'ReplicationController',
  'Job',
  'CronJob',
] as const;

/** One of these, or the kind of another object with a template for pods, such as Rollout. */
export type WorkloadKind = string;

/** `Deployment shop/web`. */
export type WorkloadId = `${WorkloadKind} ${string}/${string}`;

/** The object that controls another one, by its `ownerReferences`. */
export interface Controller {
  readonly kind: string;
  readonly name: string;
}

/** Its labels are those of its pod template, which all of its pods have. */
export interface Workload extends Labelled {
  readonly id: WorkloadId;
  readonly kind: WorkloadKind;
  readonly namespace: string;
  readonly name: string;
  /** By which its controller finds its pods; absent where it needs none, or it could not be read. */
  readonly selector?: LabelSelector;
  /** Named ports of its containers and restartable init containers (4.14). */
  readonly ports: readonly ContainerPort[];
  /** The ports of its containers that have no name; absent if there are none. */
  readonly unnamedPorts?: readonly Omit<ContainerPort, 'name'>[];
  readonly hostNetwork: boolean;
  /** How many pods it should have; absent for a workload that makes one when it is due, or one for each node. */
  readonly replicas?: number;
  /** The Deployment of a ReplicaSet, or the CronJob of a Job. */
  readonly owner?: Controller;
}

export function workloadId(kind: WorkloadKind, namespace: string, name: string): WorkloadId {
  return `${kind} ${namespace}/${name}`;
}

export function isWorkloadKind(kind: string): boolean {
  return (WORKLOAD_KINDS as readonly string[]).includes(kind);
}

/** A pod without a controller is listed as itself. */
export interface PodOrWorkload {
  readonly kind: WorkloadKind | 'Pod';
  readonly id: WorkloadId | `Pod ${PodKey}`;
}

/** An object whose controller makes pods without a template that could be read, such as a Prometheus. */
export interface PodMaker {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export function makerText({ kind, namespace, name }: PodMaker): string {
  return `${kind} ${namespace}/${name}`;
}

/** `shop/web` of `Deployment shop/web`; a member without a kind is shown as it is. */
export function memberName(member: string): string {
  return member.replace(/^[A-Z][A-Za-z0-9]* /, '');
}
