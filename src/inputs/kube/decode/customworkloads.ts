/** Kinds that Kubernetes itself does not have: those with a template for pods, and those that make pods in another way. */
import type { Labels } from '../../../model/labels.ts';
import type { PodMaker } from '../../../model/workload.ts';
import { asMap, metadataOf, typeOf } from '../report/identity.ts';

/**
 * Whether the template says what policy reads of pods: their labels, ports and network, as that of a Rollout, a
 * DeploymentConfig, a Knative Service or a VirtualMachine does.
 */
export function hasPodTemplate(object: unknown): boolean {
  const template = asMap(asMap(asMap(object).spec).template);
  const { labels } = asMap(template.metadata);
  const { containers, domain } = asMap(template.spec);
  const group = groupOf(object);
  if (group === KUBEVIRT) return isMap(domain);
  return Array.isArray(containers) && (isMap(labels) || group === KNATIVE);
}

const KNATIVE = 'serving.knative.dev';
const KUBEVIRT = 'kubevirt.io';
const OPENSHIFT = 'apps.openshift.io';

/** Labels that the controller adds to those of the template, and whose values do not change. */
export function addedLabels(object: unknown): Labels {
  const { name } = metadataOf(object);
  switch (groupOf(object)) {
    case KNATIVE:
      return { [`${KNATIVE}/service`]: name, [`${KNATIVE}/configuration`]: name };
    case KUBEVIRT:
      return { 'kubevirt.io': 'virt-launcher', 'vm.kubevirt.io/name': name };
    case OPENSHIFT:
      return { deploymentconfig: name };
    default:
      return {};
  }
}

/** The object, if it seems to make pods whose labels cannot be read: a Prometheus, a Kafka, a Workflow. */
export function podMakerOf(object: unknown): PodMaker | undefined {
  const { kind = '' } = typeOf(object);
  const group = groupOf(object);
  if (!group.includes('.') || /(^|\.)k8s\.io$/.test(group) || NOT_READ_EITHER.test(kind)) return undefined;
  if (!(OF_PROMETHEUS.has(kind) || mentionsPods(asMap(object).spec, { left: MOST_LOOKED_AT })))
    return undefined;
  const { namespace, name } = metadataOf(object);
  return { kind, namespace, name };
}

const OF_PROMETHEUS = new Set(['Prometheus', 'PrometheusAgent', 'Alertmanager', 'ThanosRuler']);

/** Policies of other engines select pods, and make none. */
const NOT_READ_EITHER = /Policy$/;

/** Fields by which authors say how many pods there are, or what is in them. */
const OF_PODS = new Set(['replicas', 'podMetadata', 'podTemplate', 'containers', 'container']);

/** A limit, because rules and dashboards are long lists. */
const MOST_LOOKED_AT = 200;

function mentionsPods(value: unknown, budget: { left: number }): boolean {
  if (typeof value !== 'object' || value === null || budget.left-- <= 0) return false;
  if (Array.isArray(value)) return value.some(item => mentionsPods(item, budget));
  return Object.entries(value).some(([key, item]) => OF_PODS.has(key) || mentionsPods(item, budget));
}

function groupOf(object: unknown): string {
  const { apiVersion = '' } = typeOf(object);
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
}

function isMap(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
