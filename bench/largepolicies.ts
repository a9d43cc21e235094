/** NetworkPolicies that repeat one thing, or two beside each other, as often as they are asked to. */
import { times } from './times.ts';

interface Ports {
  readonly port?: number | string;
  readonly endPort?: number;
  readonly protocol?: string;
}

type Spec = Record<string, unknown>;

/** For each thing that may be repeated: the spec of a policy that repeats it `n` times. */
export const LARGE_POLICIES: Readonly<Record<string, (n: number) => Spec>> = {
  'exceptions of a network': n => egress({ to: [block('10.0.0.0/8', times(n, v4))] }),
  'exceptions of a network of IPv6': n => egress({ to: [block('fd00::/16', times(n, v6))] }),
  'exceptions beside a named port': n =>
    egress({
      to: [block('10.0.0.0/8', times(n, v4)), block('fd00::/16', times(n, v6))],
      ports: [{ port: 'web' }],
    }),
  networks: n => egress({ to: times(n, i => block(v4(i))), ports: [{ port: 80 }] }),
  'networks of IPv6': n => egress({ to: times(n, i => block(v6(i))) }),
  'networks of both families with ports': n =>
    egress({ to: times(n, i => block(i % 2 === 0 ? v4(i) : v6(i))), ports: times(n, port) }),
  'a port given again': n =>
    ingress({ from: times(n, i => block(v4(i))), ports: times(n, () => ({ port: 80 })) }),
  ports: n => ingress({ from: [pods('a1')], ports: times(n, port) }),
  'ports of three protocols': n =>
    ingress({ ports: times(n, i => ({ port: 2 * i + 1, protocol: ['TCP', 'UDP', 'SCTP'][i % 3]! })) }),
  'narrow ranges': n => ingress({ ports: times(n, i => range(1 + 6 * i, 5 + 6 * i)) }),
  'wide ranges': n => ingress({ ports: times(n, i => range(1 + 70 * i, 66 + 70 * i)), from: [pods('a1')] }),
  'wide ranges of rules': n =>
    ingress(...times(n, i => ({ ports: [range(1 + 70 * i, 66 + 70 * i)], from: [block(v4(i))] }))),
  'ranges within ranges': n =>
    ingress(...times(n, i => ({ ports: [range(1 + i, 65_000 - i)], from: [block(v4(i))] }))),
  'named ports': n => ingress({ ports: [...times(n, i => ({ port: `n${i}` })), { port: 'web' }] }),
  'named ports of networks': n =>
    egress({
      to: [block('10.0.0.0/8'), ...times(n, i => block(v4(i)))],
      ports: [...times(n, i => ({ port: `n${i}` })), { port: 'web' }],
    }),
  'named ports of selectors': n =>
    egress({
      to: times(n, i => pods(`a${i}`)),
      ports: [...times(n, i => ({ port: `n${i}` })), { port: 'web' }],
    }),
  selectors: n => ingress({ from: times(n, i => pods(`a${i}`)), ports: [{ port: 80 }] }),
  'selectors of all but a few': n => ingress({ from: times(n, i => allBut(`a${i}`)), ports: [{ port: 80 }] }),
  'rules of all but a few': n => ingress(...times(n, i => ({ from: [allBut(`a${i}`)], ports: [port(i)] }))),
  'rules of a selector': n => ingress(...times(n, i => ({ from: [pods(`a${i}`)], ports: [port(i)] }))),
  'rules of a network': n => egress(...times(n, i => ({ to: [block(v4(i))], ports: [port(i)] }))),
  'rules of a network beside many of many': n =>
    egress(
      { to: times(n, i => block(v6(i))), ports: times(n, port) },
      { to: times(n, i => block(v4(i))), ports: times(n, port) },
      ...times(n, i => ({ to: [block(v4(i + n))], ports: [port(i)] })),
    ),
  'rules of many ports and many networks': n =>
    egress(
      ...times(n, i => ({
        to: times(50, j => block(v4(50 * i + j))),
        ports: times(50, j => ({ port: 1 + i + 2 * j })),
      })),
    ),
  'empty rules': n => ingress(...times(n, () => ({}))),
  'values of a selector': n =>
    ingress({
      from: [expression({ key: 'app', operator: 'In', values: ['a1', ...times(n, i => `v${i}`)] })],
    }),
  'values that are not meant': n =>
    ingress({
      from: [expression({ key: 'app', operator: 'NotIn', values: ['a1', ...times(n, i => `v${i}`)] })],
    }),
  'requirements of a selector': n =>
    ingress({ from: [expression(...times(n, i => ({ key: `k${i}`, operator: 'DoesNotExist' })))] }),
};

export function networkPolicy(namespace: string, name: string, spec: Spec): object {
  const metadata = { name, namespace };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata,
    spec: { podSelector: {}, ...spec },
  };
}

function ingress(...rules: readonly object[]): Spec {
  return { policyTypes: ['Ingress'], ingress: rules };
}

function egress(...rules: readonly object[]): Spec {
  return { policyTypes: ['Egress'], egress: rules };
}

/** No two touch, and none is one address: a compare of a network takes three expressions, of an address two. */
function v4(i: number): string {
  return `10.${128 + ((i >> 14) & 127)}.${(i >> 6) & 255}.${(i & 63) * 4}/31`;
}

function v6(i: number): string {
  return `fd00:1::${(4 * i).toString(16)}/127`;
}

function block(cidr: string, except?: readonly string[]): object {
  return { ipBlock: { cidr, ...(except !== undefined && { except }) } };
}

function port(i: number): Ports {
  return { port: 1 + ((2 * i) % 65_535) };
}

/** Past the last port it begins again. */
function range(first: number, last: number): Ports {
  const at = 1 + ((first - 1) % 65_000);
  return { port: at, endPort: Math.max(at, Math.min(65_535, at + last - first)) };
}

function pods(app: string): object {
  return { namespaceSelector: {}, podSelector: { matchLabels: { app } } };
}

function allBut(app: string): object {
  return expression({ key: 'app', operator: 'NotIn', values: [app] });
}

function expression(...matchExpressions: readonly object[]): object {
  return { namespaceSelector: {}, podSelector: { matchExpressions } };
}
