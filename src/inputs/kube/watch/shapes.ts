/** The fields that the decoders read, by kind: other fields of large objects never come into memory. */
import type { Shape } from '../client/skim.ts';
import { ENFORCEMENT } from '../decode/metadata.ts';
import { TUNNEL_ANNOTATIONS } from '../decode/tunnelannotations.ts';

/** The fields that identify an object, its revision, and those that messages quote. */
const METADATA = {
  name: 'all',
  namespace: 'all',
  uid: 'all',
  resourceVersion: 'all',
  generation: 'all',
  labels: 'all',
  creationTimestamp: 'all',
  deletionTimestamp: 'all',
  // The annotations that mark a mirror pod, the end of a streamed list, and an audited policy.
  annotations: {
    'kubernetes.io/config.mirror': 'all',
    'k8s.io/initial-events-end': 'all',
    [ENFORCEMENT]: 'all',
  },
} as const satisfies Shape;

const TYPE: Shape = { apiVersion: 'all', kind: 'all' };

const PORTS: Shape = { name: 'all', protocol: 'all', containerPort: 'all' };

/** Unknown keys are kept, too: one beside the rules may change their meaning (C51). */
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
    metadata: {
      ...METADATA,
      annotations: {
        ...METADATA.annotations,
        ...Object.fromEntries(TUNNEL_ANNOTATIONS.map(key => [key, 'all'] as const)),
      },
    },
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

/**
 * The fields that decoders read, as text: if two objects of a kind have the same text, they decode to the same. The
 * revision is left out, because every change of the object makes a new one.
 */
export function readPart(object: unknown, kind: string): string {
  const shape = shapeOf(kind) as Readonly<Record<string, Shape>>;
  const metadata = { ...(shape.metadata as object), resourceVersion: 'none' } as Shape;
  return JSON.stringify(partOf(object, { ...shape, metadata }));
}

function partOf(value: unknown, shape: Shape): unknown {
  if (shape === 'all' || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(item => partOf(item, shape));
  const shapes = shape as Readonly<Record<string, Shape>>;
  const part: Record<string, unknown> = Object.create(null);
  for (const [key, member] of Object.entries(value)) {
    const ofMember = (Object.hasOwn(shapes, key) ? shapes[key] : shapes['*']) ?? 'none';
    if (ofMember !== 'none') part[key] = partOf(member, ofMember);
  }
  return part;
}
