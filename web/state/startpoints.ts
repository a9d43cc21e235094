/** Policies to begin with. Each is a text as a person would write it, but for quotes: a namespace may be named `123`. */

export interface StartPoint {
  readonly title: string;
  readonly sentence: string;
  /** With a name that none of the policies `taken` has: `shop/default-deny`, or `guard` of the cluster as a whole. */
  readonly make: (namespace: string, taken: ReadonlySet<string>) => string;
}

function freeName(name: string, isTaken: (name: string) => boolean): string {
  let free = name;
  for (let number = 2; isTaken(free); number++) free = `${name}-${number}`;
  return free;
}

const networkPolicy =
  (name: string, spec: string): StartPoint['make'] =>
  (namespace, taken) =>
    `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: ${freeName(name, each => taken.has(`${namespace}/${each}`))}
  namespace: ${JSON.stringify(namespace)}
spec:
${spec}`;

export const POINTS: readonly StartPoint[] = [
  {
    title: 'Deny all',
    sentence:
      'Nothing reaches the pods of this namespace, and they reach nothing, until another policy allows it.',
    make: networkPolicy('default-deny', '  podSelector: {}\n  policyTypes: [Ingress, Egress]\n'),
  },
  {
    title: 'Allow DNS',
    sentence:
      'All pods of this namespace may ask the DNS servers of the cluster, which a default deny of egress forbids.',
    make: networkPolicy(
      'allow-dns',
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
    make: networkPolicy(
      'isolate-tenant',
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
    make: networkPolicy(
      'no-metadata',
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
    make: (namespace, taken) => `apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata:
  name: ${freeName(`guard-${namespace}`, each => taken.has(each))}
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
