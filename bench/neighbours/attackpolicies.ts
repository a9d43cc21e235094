/** The policies of the attacks, each as it is after so many edits. */
import type { KubeObject } from '../fakeapiserver.ts';
import { roleOf } from './besides.ts';
import { crowdHere, HOSTILE, TENANT } from './population.ts';

/** Nearly as many selectors as a namespace may have. */
export const RELABELS = { policies: 4, selectors: 240 };
/** As many policies as are merged; an edit of one is small and goes at once. */
export const SMALL = { policies: 23, selectors: 20 };
/** Policies for each of two values of a label of a pod on the node. */
export const LOCAL = { policies: 20, selectors: 49 };
/** Nearly as many policies as a namespace may have, written with the first edits. */
export const CLASSES = { policies: 1_900, edits: 5 };

export function ingress(rules: readonly object[], labels: object = HOSTILE, name?: string): KubeObject {
  return policy({ podSelector: { matchLabels: labels }, policyTypes: ['Ingress'], ingress: rules }, name);
}

export function egress(rules: readonly object[]): KubeObject {
  return policy({ podSelector: { matchLabels: HOSTILE }, policyTypes: ['Egress'], egress: rules });
}

function policy(spec: object, name = 'hostile'): KubeObject {
  const metadata = { name, namespace: TENANT };
  return { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec };
}

/** Each edit changes the last rule. */
export function rules(count: number, edit: number): object[] {
  return Array.from({ length: count }, (_, i) => ({
    from: [{ podSelector: { matchLabels: { app: `peer-${i}`, tier: 'any' } } }],
    ports: [{ protocol: 'TCP', port: 1000 + i + (i === count - 1 ? edit % 2 : 0) }],
  }));
}

export function networkRules(count: number, edit: number): object[] {
  return Array.from({ length: count }, (_, i) => ({
    to: [{ ipBlock: { cidr: `172.${16 + (i >> 12)}.${(i >> 4) & 255}.${(i & 15) << 4}/30` } }],
    ports: [{ protocol: 'TCP', port: 1000 + i + (i === count - 1 ? edit % 2 : 0) }],
  }));
}

export function excepts(count: number, edit: number): object {
  const except = (i: number) =>
    `10.${100 + (i >> 12)}.${(i >> 4) & 255}.${(i & 15) << 4}/${i === 0 ? 29 + (edit % 2) : 30}`;
  return { ipBlock: { cidr: '10.0.0.0/8', except: Array.from({ length: count }, (_, i) => except(i)) } };
}

export function allButOne(i: number, edit: number): object {
  const values = [`nobody-${i === 0 ? edit % 2 : i}`];
  return { podSelector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values }] } };
}

export function range(i: number, edit: number): object {
  const first = 1 + 4 * i;
  return { protocol: 'TCP', port: first, endPort: first + 1 + (i === 0 ? edit % 2 : 0) };
}

/** All of them mention one label, so that a pod that gets or loses it joins or leaves each. */
export function selecting(name: string, edit: number): KubeObject {
  return ofSelectors(name, edit, RELABELS.selectors, i => tierNotIn(['red', `${name}-${i}-0`]));
}

/** Each selector is a different one, and all select all pods: no pod has the excluded value. */
export function meaningAll(name: string, edit: number): KubeObject {
  return ofSelectors(name, edit, RELABELS.selectors, i => tierIn(['any', `${name}-${i}`]));
}

/** Different selectors for each value of the label; all policies have the same ports. */
export function selectingAnew(name: string, value: string): KubeObject {
  return ofSelectors(name, 0, SMALL.selectors, i => tierIn([value, `${name}-${i}`]));
}

function tierIn(values: readonly string[]): object {
  return { podSelector: { matchExpressions: [{ key: 'tier', operator: 'In', values }] } };
}

function tierNotIn(values: readonly string[]): object {
  return { podSelector: { matchExpressions: [{ key: 'tier', operator: 'NotIn', values }] } };
}

/** All policies have the same ports, and each selector selects all pods. */
export function ofRole(edit: number): KubeObject {
  const [name, labels] = [`role-${edit}`, { ...HOSTILE, role: roleOf(edit) }];
  return ofSelectors(name, 0, LOCAL.selectors, i => tierIn(['any', `${name}-${i}`]), labels);
}

function ofSelectors(
  name: string,
  edit: number,
  selectors: number,
  peer: (i: number) => object,
  labels: object = HOSTILE,
): KubeObject {
  const rules = Array.from({ length: selectors }, (_, i) => ({
    from: [peer(i)],
    ports: [{ protocol: 'TCP', port: 1000 + i + (i === 0 ? edit % 2 : 0) }],
  }));
  return ingress(rules, labels, name);
}

/** A small policy of five entries. */
export function small(name: string, i: number, labels: object = {}): KubeObject {
  const from = [tierIn([`a${i % 50}`]), tierIn([`b${i % 40}`])];
  const rule = { from, ports: [{ protocol: 'TCP', port: 1000 + (i % 60_000) }] };
  const spec = { podSelector: { matchLabels: labels }, policyTypes: ['Ingress'], ingress: [rule] };
  return policy(spec, name);
}

/** A part of them, and the pods with a policy for each. */
export function manyClasses(edit: number): KubeObject[] {
  const count = CLASSES.policies / CLASSES.edits;
  const policies = Array.from({ length: count }, (_, i) => small(`small-${edit}-${i}`, edit * count + i));
  return edit > 0 ? policies : [...policies, ...crowdHere(({ app }) => small(app, 0, { app }))];
}

/** All policies mention one label of namespaces. */
export function selectingTeams(name: string, edit: number): KubeObject {
  return ofSelectors(name, edit, RELABELS.selectors, i => {
    const values = ['red', `${name}-${i}`];
    return { namespaceSelector: { matchExpressions: [{ key: 'team', operator: 'In', values }] } };
  });
}

export function morePolicies(): KubeObject[] {
  return Array.from({ length: RELABELS.policies - 1 }, (_, i) => selecting(`hostile-${i}`, 0));
}

export function manyValues(edit: number): object {
  const values = Array.from({ length: 4900 }, (_, i) => `peer-${i === 0 ? edit % 2 : i}`);
  return { key: 'app', operator: 'In', values };
}

export function namedPortsOfNetworks(count: number, edit: number): object {
  const to = networkRules(count, 0).flatMap(({ to }: { to?: object[] }) => to ?? []);
  const ports = Array.from({ length: count }, (_, i) => ({
    protocol: 'TCP',
    port: `n${i}-${i === 0 ? edit % 2 : 0}`,
  }));
  return { to, ports };
}

export function namespaceRules(count: number, edit: number): object[] {
  return Array.from({ length: count }, (_, i) => ({
    from: [{ namespaceSelector: { matchLabels: { team: `t${i}` } } }],
    ports: [{ protocol: 'TCP', port: 1000 + i + (i === 0 ? edit % 2 : 0) }],
  }));
}
