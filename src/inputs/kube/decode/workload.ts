import type { Labelled } from '../../../model/labels.ts';
import { type Workload, type WorkloadKind, workloadId } from '../../../model/workload.ts';
import type { Field } from './fields.ts';
import { readLabelled, readName, readNamespace } from './metadata.ts';
import { controllerOf } from './owner.ts';
import { readPorts } from './pod.ts';

/** A workload by what its template says: only what policy would read of the pods that it makes. */
export function decodeWorkload(object: Field, kind: WorkloadKind): Workload | undefined {
  const name = readName(object);
  const namespace = readNamespace(object);
  if (name === undefined || namespace === undefined) return undefined;
  const template = templateOf(object.get('spec'), kind).withEffect(EFFECT);
  const spec = template.get('spec');
  const replicas = replicasOf(object, kind);
  const owner = controllerOf(object.value);
  return {
    id: workloadId(kind, namespace, name),
    kind,
    namespace,
    name,
    ...withOwnLabels(readLabelled(template), kind, name),
    ports: readPorts(spec),
    hostNetwork: spec.get('hostNetwork').boolean() ?? false,
    ...(replicas !== undefined && { replicas }),
    ...(owner !== undefined && { owner }),
  };
}

const EFFECT = 'pods that are not there yet are judged without it';

function templateOf(spec: Field, kind: WorkloadKind): Field {
  const job = kind === 'CronJob' ? spec.get('jobTemplate').get('spec') : spec;
  return job.get('template');
}

/** The API server fills in 1. */
function replicasOf(object: Field, kind: WorkloadKind): number | undefined {
  if (kind === 'Job' || kind === 'CronJob' || kind === 'DaemonSet') return undefined;
  return (
    object
      .get('spec')
      .get('replicas')
      .integer(0, 2 ** 31 - 1) ?? 1
  );
}

/** A Job labels its pods with its own name; what the others add has a value that only the cluster knows. */
function withOwnLabels(labelled: Labelled, kind: WorkloadKind, name: string): Labelled {
  if (kind !== 'Job') return labelled;
  const own = { 'job-name': name, 'batch.kubernetes.io/job-name': name };
  return { ...labelled, labels: { ...own, ...labelled.labels } };
}
