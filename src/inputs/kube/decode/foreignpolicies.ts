/**
 * Policies of other engines: which they are, and the pods that each may isolate. What of a selector is not understood
 * is left out, so that too many pods are named and never too few.
 */
import { NAMESPACE_NAME_LABEL } from '../../../model/cluster.ts';
import type { ForeignPolicy } from '../../../model/foreignpolicy.ts';
import type { LabelSelector, Requirement } from '../../../model/labels.ts';
import {
  EVERY_NAMESPACE,
  EVERYTHING,
  type NamespaceSelector,
  type PodSelector,
} from '../../../model/selector.ts';
import { asMap, asMaps, metadataOf, typeOf } from '../report/identity.ts';
import { looseSelector } from './looseselector.ts';

/** The policy, if the object is one; undefined for other objects. */
export function foreignPolicyOf(object: unknown): ForeignPolicy | undefined {
  const { apiVersion = '', kind = '' } = typeOf(object);
  const found = ENGINES.find(({ group }) => group.test(apiVersion));
  if (found === undefined || !POLICIES.test(kind)) return undefined;
  const { engine, isolates, subjects } = found;
  const { namespace, name } = metadataOf(object);
  const isWide = CLUSTER_WIDE.test(kind);
  const own: NamespaceSelector = isWide ? EVERY_NAMESPACE : { kind: 'name', name: namespace };
  return {
    id: isWide ? `${kind} ${name}` : `${kind} ${namespace}/${name}`,
    engine,
    subjects: isolates.test(kind) ? subjects(asMap(asMap(object).spec), own, object) : [],
  };
}

/** Whether it is an object of a namespace. */
export function isNamespacedForeign(object: unknown): boolean {
  return foreignPolicyOf(object) !== undefined && !CLUSTER_WIDE.test(typeOf(object).kind ?? '');
}

const POLICIES = /Policy$|^EgressFirewall$|^Tier$/;
const CLUSTER_WIDE = /Cluster|Global|^Tier$|^Cilium(?!NetworkPolicy$)|^Admin|^Baseline/;

interface Engine {
  readonly group: RegExp;
  readonly engine: string;
  /** Its kinds that deny what they do not allow. */
  readonly isolates: RegExp;
  readonly subjects: (
    spec: Readonly<Record<string, unknown>>,
    own: NamespaceSelector,
    object: unknown,
  ) => PodSelector[];
}

const allOf = (_: unknown, namespaces: NamespaceSelector): PodSelector[] => [
  { namespaces, pods: EVERYTHING },
];

const ENGINES: readonly Engine[] = [
  {
    group: /^cilium\.io\//,
    engine: 'Cilium',
    isolates: /^Cilium(Clusterwide)?NetworkPolicy$/,
    subjects: (spec, own, object) => {
      const specs = [spec, ...asMaps(asMap(object).specs)].filter(
        ({ endpointSelector }) => endpointSelector !== undefined,
      );
      return specs.map(({ endpointSelector }) => ciliumSubject(endpointSelector, own));
    },
  },
  {
    group: /^(crd\.)?projectcalico\.org\//,
    engine: 'Calico',
    isolates: /^(Global)?NetworkPolicy$/,
    subjects: ({ selector, namespaceSelector }, own) => [calicoSubject(selector, namespaceSelector, own)],
  },
  {
    group: /^(crd|security)\.antrea\.(io|tanzu\.vmware\.com)\//,
    engine: 'Antrea',
    isolates: /NetworkPolicy$/,
    subjects: ({ appliedTo }, own) => {
      const parts = asMaps(appliedTo);
      return parts.length === 0 ? allOf(undefined, own) : parts.map(part => appliedSubject(part, own));
    },
  },
  { group: /^k8s\.ovn\.org\//, engine: 'OVN-Kubernetes', isolates: /^EgressFirewall$/, subjects: allOf },
  {
    group: /^network\.openshift\.io\//,
    engine: 'OpenShift SDN',
    isolates: /^EgressNetworkPolicy$/,
    subjects: allOf,
  },
  {
    group: /^k8s\.cni\.cncf\.io\//,
    engine: 'Multus',
    isolates: /^MultiNetworkPolicy$/,
    subjects: ({ podSelector }, namespaces) => [
      { namespaces, pods: looseSelector(podSelector) ?? EVERYTHING },
    ],
  },
  {
    group: /^security\.istio\.io\//,
    engine: 'Istio',
    isolates: /^AuthorizationPolicy$/,
    subjects: ({ selector }, own) => {
      const isRoot = own.kind === 'name' && own.name === 'istio-system';
      return [{ namespaces: isRoot ? EVERY_NAMESPACE : own, pods: looseSelector(selector) ?? EVERYTHING }];
    },
  },
];

function appliedSubject(
  { podSelector, namespaceSelector }: Readonly<Record<string, unknown>>,
  own: NamespaceSelector,
): PodSelector {
  const selector = namespaceSelector === undefined ? undefined : looseSelector(namespaceSelector);
  return {
    namespaces: selector === undefined ? own : { kind: 'labels', selector },
    pods: looseSelector(podSelector) ?? EVERYTHING,
  };
}

// Cilium writes where a label comes from before its key, and labels of namespaces among those of pods.

function ciliumSubject(endpointSelector: unknown, own: NamespaceSelector): PodSelector {
  const requirements = (looseSelector(endpointSelector) ?? EVERYTHING).requirements.map(requirement => ({
    ...requirement,
    key: requirement.key.replace(/^(?:k8s|any)[:.]/, ''),
  }));
  const ofPods = requirements.filter(({ key }) => !(key.includes(':') || key.startsWith('io.')));
  const ofNamespaces = requirements.flatMap(({ key, ...rest }): Requirement[] => {
    if (key === 'io.kubernetes.pod.namespace') return [{ ...rest, key: NAMESPACE_NAME_LABEL }];
    return key.startsWith(OF_NAMESPACE) ? [{ ...rest, key: key.slice(OF_NAMESPACE.length) }] : [];
  });
  return subject(ofPods, ofNamespaces, own);
}

const OF_NAMESPACE = 'io.cilium.k8s.namespace.labels.';

function subject(
  pods: readonly Requirement[],
  namespaces: readonly Requirement[],
  own: NamespaceSelector,
): PodSelector {
  const isOwn = own.kind === 'name' || namespaces.length === 0;
  return {
    namespaces: isOwn ? own : { kind: 'labels', selector: { requirements: namespaces } },
    pods: { requirements: pods },
  };
}

// Calico writes selectors as text: `app == 'web' && has(tier)`.

function calicoSubject(selector: unknown, namespaceSelector: unknown, own: NamespaceSelector): PodSelector {
  const { requirements } = calicoSelector(selector);
  const ofNamespaces = requirements.flatMap((each): Requirement[] =>
    each.key === 'projectcalico.org/namespace' ? [{ ...each, key: NAMESPACE_NAME_LABEL }] : [],
  );
  const named = calicoSelector(namespaceSelector).requirements.map(each =>
    each.key === 'projectcalico.org/name' ? { ...each, key: NAMESPACE_NAME_LABEL } : each,
  );
  const ofPods = requirements.filter(({ key }) => !key.startsWith('projectcalico.org/'));
  return subject(ofPods, [...ofNamespaces, ...named], own);
}

function calicoSelector(text: unknown): LabelSelector {
  if (typeof text !== 'string' || text.length > LONGEST || text.includes('||')) return EVERYTHING;
  return { requirements: text.split('&&').flatMap(calicoRequirement) };
}

const LONGEST = 4_096;

function calicoRequirement(term: string): Requirement[] {
  const [, not, present] = /^(!?)has\(([\w./-]+)\)$/.exec(term.trim()) ?? [];
  if (present !== undefined)
    return [{ key: present, operator: not === '!' ? 'DoesNotExist' : 'Exists', values: [] }];
  const [, key, equals, one, other] =
    /^([\w./-]+) ?([=!]=) ?(?:'([^']*)'|"([^"]*)")$/.exec(term.trim()) ?? [];
  if (key === undefined) return calicoSet(term);
  return [{ key, operator: equals === '==' ? 'In' : 'NotIn', values: [one ?? other ?? ''] }];
}

function calicoSet(term: string): Requirement[] {
  const [, key, not, list = ''] = /^([\w./-]+) (not )?in ?\{([^{}]*)\}$/.exec(term.trim()) ?? [];
  const values = list.split(',').map(each => /^(?:'([^']*)'|"([^"]*)")$/.exec(each.trim()));
  if (key === undefined || values.includes(null)) return [];
  return [
    { key, operator: not === undefined ? 'In' : 'NotIn', values: values.map(each => each![1] ?? each![2]!) },
  ];
}
