/** What the decoders read of each kind: of an object that is large, nothing else comes into memory. */
import type { Shape } from '../client/skim.ts';
import { ENFORCEMENT } from './metadata.ts';

/** Whom it is about, how the server counts it, and what a problem says of it. */
const METADATA: Shape = {
  name: 'all',
  namespace: 'all',
  uid: 'all',
  resourceVersion: 'all',
  generation: 'all',
  labels: 'all',
  creationTimestamp: 'all',
  deletionTimestamp: 'all',
  // Those that say that a pod is mirrored, that a streamed list ends, and whether a policy is in force.
  annotations: {
    'kubernetes.io/config.mirror': 'all',
    'k8s.io/initial-events-end': 'all',
    [ENFORCEMENT]: 'all',
  },
};

const TYPE: Shape = { apiVersion: 'all', kind: 'all' };

const PORTS: Shape = { name: 'all', protocol: 'all', containerPort: 'all' };

/** Unknown keys too: one beside the rules may change what they mean (C51). */
const POLICY: Shape = { ...TYPE, metadata: METADATA, spec: { '*': 'all' } };

const SHAPES: Readonly<Record<string, Shape>> = {
  Pod: {
    ...TYPE,
    metadata: METADATA,
    spec: {
      nodeName: 'all',
      hostNetwork: 'all',
      containers: { ports: PORTS },
      initContainers: { restartPolicy: 'all', ports: PORTS },
    },
    status: { phase: 'all', podIP: 'all', podIPs: 'all' },
  },
  Namespace: { ...TYPE, metadata: METADATA },
  Node: {
    ...TYPE,
    metadata: METADATA,
    spec: { podCIDR: 'all', podCIDRs: 'all' },
    status: { addresses: 'all' },
  },
  Service: {
    ...TYPE,
    metadata: METADATA,
    spec: {
      type: 'all',
      clusterIP: 'all',
      clusterIPs: 'all',
      externalIPs: 'all',
      ports: { protocol: 'all', port: 'all', nodePort: 'all' },
    },
    status: { loadBalancer: { ingress: { ip: 'all' } } },
  },
  CustomResourceDefinition: {
    ...TYPE,
    metadata: METADATA,
    spec: { versions: { name: 'all', served: 'all', storage: 'all' } },
    status: { conditions: { type: 'all', status: 'all' } },
  },
};

export function shapeOf(kind: string): Shape {
  return SHAPES[kind] ?? POLICY;
}
