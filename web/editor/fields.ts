/** The fields of the policy APIs by their place. A test holds them against the decoders: each is one that is read. */

type Fields = Readonly<Record<string, readonly string[]>>;

/** Keys are the names of the field that they are in. */
const COMMON: Fields = {
  '': ['apiVersion', 'kind', 'metadata', 'spec'],
  metadata: ['name', 'namespace', 'labels', 'annotations'],
  podSelector: ['matchLabels', 'matchExpressions'],
  namespaceSelector: ['matchLabels', 'matchExpressions'],
  matchExpressions: ['key', 'operator', 'values'],
};

const NETWORK_POLICY: Fields = {
  ...COMMON,
  spec: ['podSelector', 'policyTypes', 'ingress', 'egress'],
  ingress: ['from', 'ports'],
  egress: ['to', 'ports'],
  from: ['podSelector', 'namespaceSelector', 'ipBlock'],
  to: ['podSelector', 'namespaceSelector', 'ipBlock'],
  ipBlock: ['cidr', 'except'],
  ports: ['protocol', 'port', 'endPort'],
};

const OF_CLUSTER: Fields = {
  ...COMMON,
  subject: ['namespaces', 'pods'],
  namespaces: ['matchLabels', 'matchExpressions'],
  nodes: ['matchLabels', 'matchExpressions'],
  pods: ['namespaceSelector', 'podSelector'],
  from: ['namespaces', 'pods'],
  to: ['namespaces', 'pods', 'nodes', 'networks', 'domainNames'],
};

const CLUSTER_NETWORK_POLICY: Fields = {
  ...OF_CLUSTER,
  spec: ['tier', 'priority', 'subject', 'ingress', 'egress'],
  ingress: ['name', 'action', 'from', 'protocols'],
  egress: ['name', 'action', 'to', 'protocols'],
  protocols: ['tcp', 'udp', 'sctp', 'destinationNamedPort'],
  tcp: ['destinationPort'],
  udp: ['destinationPort'],
  sctp: ['destinationPort'],
  destinationPort: ['number', 'range'],
  range: ['start', 'end'],
};

const ADMIN_NETWORK_POLICY: Fields = {
  ...OF_CLUSTER,
  spec: ['priority', 'subject', 'ingress', 'egress'],
  ingress: ['name', 'action', 'from', 'ports'],
  egress: ['name', 'action', 'to', 'ports'],
  ports: ['portNumber', 'namedPort', 'portRange'],
  portNumber: ['protocol', 'port'],
  portRange: ['protocol', 'start', 'end'],
};

export const FIELDS: Readonly<Record<string, Fields>> = {
  NetworkPolicy: NETWORK_POLICY,
  ClusterNetworkPolicy: CLUSTER_NETWORK_POLICY,
  AdminNetworkPolicy: ADMIN_NETWORK_POLICY,
  BaselineAdminNetworkPolicy: { ...ADMIN_NETWORK_POLICY, spec: ['subject', 'ingress', 'egress'] },
};

export function fieldsAt(kind: string, path: readonly string[]): readonly string[] {
  // A word that is typed may be `constructor`.
  const fields = (Object.hasOwn(FIELDS, kind) && FIELDS[kind]) || COMMON;
  const parent = path.at(-1) ?? '';
  return (Object.hasOwn(fields, parent) && fields[parent]) || [];
}

/** The words that a field takes. */
export const VALUES: Readonly<Record<string, readonly string[]>> = {
  kind: Object.keys(FIELDS),
  apiVersion: [
    'networking.k8s.io/v1',
    'policy.networking.k8s.io/v1alpha1',
    'policy.networking.k8s.io/v1alpha2',
  ],
  protocol: ['TCP', 'UDP', 'SCTP'],
  operator: ['In', 'NotIn', 'Exists', 'DoesNotExist'],
  policyTypes: ['[Ingress]', '[Egress]', '[Ingress, Egress]'],
  tier: ['Admin', 'Baseline'],
  action: ['Accept', 'Allow', 'Deny', 'Pass'],
};
