/**
 * The resources that a question reads from an API server in addition to those that the agent watches, and the fields of
 * each.
 */
import type { Shape } from '../client/skim.ts';
import { PODS, type Resource } from '../watch/resource.ts';
import { shapeOf } from '../watch/shapes.ts';

type ShapeMap = { readonly [key: string]: Shape };

const OWNERS: Shape = { kind: 'all', name: 'all', controller: 'all' };
const METADATA: Shape = { name: 'all', namespace: 'all', resourceVersion: 'all', labels: 'all' };
const OWNED: Shape = { ...METADATA, ownerReferences: OWNERS };
const PORTS: Shape = { name: 'all', protocol: 'all', containerPort: 'all' };

const TEMPLATE: Shape = {
  metadata: { labels: 'all' },
  spec: {
    hostNetwork: 'all',
    containers: { ports: PORTS },
    initContainers: { restartPolicy: 'all', ports: PORTS },
  },
};

const TYPE: ShapeMap = { apiVersion: 'all', kind: 'all' };
const JOB: Shape = { template: TEMPLATE };

const workloadShape = (spec: ShapeMap): Shape => ({ ...TYPE, metadata: OWNED, spec });

/** The pods as the agent reads them, with their owners. */
export const PODS_AND_OWNERS: Resource = { ...PODS, shape: podShape() };

function podShape(): Shape {
  const pod = shapeOf('Pod') as ShapeMap;
  const spec = pod.spec as ShapeMap;
  const withHostPorts = (kind: string) => {
    const container = spec[kind] as ShapeMap;
    return {
      ...container,
      ports: { ...(container.ports as ShapeMap), hostPort: 'all', hostIP: 'all' },
    } as const;
  };
  return {
    ...pod,
    metadata: { ...(pod.metadata as ShapeMap), ownerReferences: OWNERS },
    spec: {
      ...spec,
      containers: withHostPorts('containers'),
      initContainers: withHostPorts('initContainers'),
    },
  };
}

const appsResource = (kind: string, plural: string): Resource => ({
  kind,
  apiVersion: 'apps/v1',
  path: `/apis/apps/v1/${plural}`,
  shape: workloadShape({ replicas: 'all', template: TEMPLATE }),
});

export const WORKLOADS: readonly Resource[] = [
  appsResource('Deployment', 'deployments'),
  appsResource('StatefulSet', 'statefulsets'),
  appsResource('DaemonSet', 'daemonsets'),
  appsResource('ReplicaSet', 'replicasets'),
  {
    kind: 'ReplicationController',
    apiVersion: 'v1',
    path: '/api/v1/replicationcontrollers',
    shape: workloadShape({ replicas: 'all', template: TEMPLATE }),
  },
  {
    kind: 'Job',
    apiVersion: 'batch/v1',
    path: '/apis/batch/v1/jobs',
    shape: workloadShape({ template: TEMPLATE }),
  },
  {
    kind: 'CronJob',
    apiVersion: 'batch/v1',
    path: '/apis/batch/v1/cronjobs',
    shape: workloadShape({ jobTemplate: { spec: JOB } }),
  },
];

export const SERVICE_RESOURCES: readonly Resource[] = [
  {
    kind: 'Service',
    apiVersion: 'v1',
    path: '/api/v1/services',
    shape: {
      ...TYPE,
      metadata: METADATA,
      spec: 'all',
      status: { loadBalancer: 'all' },
    },
  },
  {
    kind: 'EndpointSlice',
    apiVersion: 'discovery.k8s.io/v1',
    path: '/apis/discovery.k8s.io/v1/endpointslices',
    shape: { ...TYPE, metadata: METADATA, addressType: 'all', ports: 'all', endpoints: 'all' },
  },
];

const ANNOTATIONS: Shape = {
  'kubernetes.io/ingress.class': 'all',
  'ingressclass.kubernetes.io/is-default-class': 'all',
};
const ENTRANCE: Shape = { ...TYPE, metadata: { ...METADATA, annotations: ANNOTATIONS }, spec: 'all' };

const entrance = (kind: string, apiVersion: string, plural: string): Resource => ({
  kind,
  apiVersion,
  path: `/apis/${apiVersion}/${plural}`,
  shape: ENTRANCE,
});

/** What leads clients from outside to Services. A server that does not have one of them answers 404. */
export const ENTRANCES: readonly Resource[] = [
  entrance('Ingress', 'networking.k8s.io/v1', 'ingresses'),
  entrance('IngressClass', 'networking.k8s.io/v1', 'ingressclasses'),
  entrance('HTTPRoute', 'gateway.networking.k8s.io/v1', 'httproutes'),
  entrance('GRPCRoute', 'gateway.networking.k8s.io/v1', 'grpcroutes'),
  entrance('TLSRoute', 'gateway.networking.k8s.io/v1alpha2', 'tlsroutes'),
  entrance('TCPRoute', 'gateway.networking.k8s.io/v1alpha2', 'tcproutes'),
  entrance('UDPRoute', 'gateway.networking.k8s.io/v1alpha2', 'udproutes'),
  entrance('Gateway', 'gateway.networking.k8s.io/v1', 'gateways'),
  entrance('GatewayClass', 'gateway.networking.k8s.io/v1', 'gatewayclasses'),
  entrance('ReferenceGrant', 'gateway.networking.k8s.io/v1beta1', 'referencegrants'),
  entrance('Route', 'route.openshift.io/v1', 'routes'),
];

/** The resource, limited to one namespace. */
export function namespacedResource(resource: Resource, namespace: string): Resource {
  const slash = resource.path.lastIndexOf('/');
  const path = `${resource.path.slice(0, slash)}/namespaces/${namespace}${resource.path.slice(slash)}`;
  return { ...resource, path };
}

export function pluralOf({ path }: Resource): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
