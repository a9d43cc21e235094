/** Policies to begin with. Each is a text as a person would write it, but for quotes: a namespace may be named `123`. */

export interface StartPoint {
  readonly title: string;
  readonly sentence: string;
  /** For the cluster as a whole, the namespace means nothing. */
  readonly make: (namespace: string) => string;
}

const networkPolicy = (name: string, namespace: string, spec: string) => `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: ${name}
  namespace: ${JSON.stringify(namespace)}
spec:
${spec}`;

export const POINTS: readonly StartPoint[] = [
  {
    title: 'Deny all',
    sentence:
      'Nothing reaches the pods of this namespace, and they reach nothing, until another policy allows it.',
    make: namespace =>
      networkPolicy('default-deny', namespace, '  podSelector: {}\n  policyTypes: [Ingress, Egress]\n'),
  },
  {
    title: 'Allow DNS',
    sentence:
      'All pods of this namespace may ask the DNS servers of the cluster, which a default deny of egress forbids.',
    make: namespace =>
      networkPolicy(
        'allow-dns',
        namespace,
        `  podSelector: {}
  policyTypes: [Egress]
  egress:
    - to:
        - namespaceSelector:
            matchLabels:
              kubernetes.io/metadata.name: kube-system
          podSelector:
            matchLabels:
              k8s-app: kube-dns
      ports:
        - { protocol: UDP, port: 53 }
        - { protocol: TCP, port: 53 }
`,
      ),
  },
  {
    title: 'Isolate the namespace',
    sentence: 'Pods of this namespace are reached by one another, and by nobody from outside of it.',
    make: namespace =>
      networkPolicy(
        'isolate-tenant',
        namespace,
        `  podSelector: {}
  policyTypes: [Ingress]
  ingress:
    - from:
        - podSelector: {}
`,
      ),
  },
  {
    title: 'Block metadata',
    sentence:
      'Pods of this namespace may go anywhere but to the metadata services of clouds, which hand out credentials.',
    make: namespace =>
      networkPolicy(
        'no-metadata',
        namespace,
        `  podSelector: {}
  policyTypes: [Egress]
  egress:
    - to:
        - ipBlock:
            cidr: 0.0.0.0/0
            except: [169.254.169.254/32]
        - ipBlock:
            cidr: ::/0
            except: ["fd00:ec2::254/128"]
`,
      ),
  },
  {
    title: 'Admin guard rail',
    sentence:
      'No pod of another namespace reaches this one, whatever its owners allow: the Admin tier is asked first.',
    make: namespace => `apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata:
  name: guard-${namespace}
spec:
  tier: Admin
  priority: 10
  subject:
    namespaces:
      matchLabels:
        kubernetes.io/metadata.name: ${JSON.stringify(namespace)}
  ingress:
    - name: not-from-other-namespaces
      action: Deny
      from:
        - namespaces:
            matchExpressions:
              - key: kubernetes.io/metadata.name
                operator: NotIn
                values: [${JSON.stringify(namespace)}]
`,
  },
];
