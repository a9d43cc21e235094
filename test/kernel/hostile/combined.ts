/** Everything that one rule may hold, beside everything else that it may: peers by ports, in both directions. */
type Many = (n: number) => readonly object[];

const PEERS: Readonly<Record<string, Many>> = {
  networks: times(i => ({ ipBlock: { cidr: v4(i) } })),
  'networks of IPv6': times(i => ({ ipBlock: { cidr: v6(i) } })),
  'networks with exceptions': n => [
    { ipBlock: { cidr: '10.0.0.0/8', except: times(v4)(n) } },
    { ipBlock: { cidr: 'fd00::/16', except: times(v6)(n) } },
  ],
  pods: times(i => ({ podSelector: { matchLabels: { app: `a${i}` } } })),
  'all pods but few': times(i => ({
    namespaceSelector: {},
    podSelector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: [`a${i}`] }] },
  })),
  'of all kinds': n => [
    ...times(i => ({ ipBlock: { cidr: v4(i) } }))(n >> 2),
    ...times(i => ({ ipBlock: { cidr: v6(i) } }))(n >> 2),
    ...times(i => ({ podSelector: { matchLabels: { app: `a${i}` } } }))(n >> 2),
  ],
};

const PORTS: Readonly<Record<string, Many>> = {
  numbers: times(i => ({ port: 1 + 2 * (i % 30_000) })),
  'of three protocols': times(i => ({
    port: 1 + 2 * (i % 30_000),
    protocol: ['TCP', 'UDP', 'SCTP'][i % 3],
  })),
  'narrow ranges': times(i => rangeAt(6 * i, 4)),
  'wide ranges': times(i => rangeAt(70 * i, 66)),
  names: n => [{ port: 'web' }, ...times(i => ({ port: `n${i}` }))(n)],
};

/** By what is repeated: the spec of a policy that repeats it `n` times. */
export const COMBINED: Readonly<Record<string, (n: number) => Record<string, unknown>>> = Object.fromEntries(
  Object.entries(PEERS).flatMap(([who, peers]) =>
    Object.entries(PORTS).flatMap(([what, ports]) => [
      [
        `from ${who}, ports ${what}`,
        (n: number) => ({ policyTypes: ['Ingress'], ingress: [{ from: peers(n), ports: ports(n) }] }),
      ],
      [
        `to ${who}, ports ${what}`,
        (n: number) => ({ policyTypes: ['Egress'], egress: [{ to: peers(n), ports: ports(n) }] }),
      ],
    ]),
  ),
);

function times<T>(make: (i: number) => T): (n: number) => T[] {
  return n => Array.from({ length: n }, (_, i) => make(i));
}

function v4(i: number): string {
  return `10.${100 + ((i >> 14) & 127)}.${(i >> 6) & 255}.${(i & 63) * 4}/31`;
}

function v6(i: number): string {
  return `fd00:1::${(4 * i).toString(16)}/127`;
}

function rangeAt(first: number, more: number): object {
  const port = 1 + (first % 60_000);
  return { port, endPort: port + more };
}
