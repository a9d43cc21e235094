/** The statements about semantics that must be proven, and where those are proven that no scenario can show. */

const EVERY_TIER = [
  ...['EgressTCP', 'EgressUDP', 'EgressSCTP', 'IngressTCP', 'IngressUDP', 'IngressSCTP', 'Gress'],
  ...['EgressInlineCIDRPeers', 'EgressNodePeers', 'EgressNamedPort', 'IngressNamedPort'],
];
const ADMIN_ONLY = ['PriorityField', 'Integration'];

function numbered(letter: string, last: number): string[] {
  return Array.from({ length: last }, (_, at) => `${letter}${at + 1}`);
}

/**
 * Statements about NetworkPolicy v1. The last ones are our own: about pods that no source has reported
 * (docs/start-gate.md), and about objects that are unknown or cannot be read
 * (docs/decisions/0013-what-is-not-known-allows-nothing.md). N69 to N72 and N74 are about packets that no policy
 * judges, N73 about policies that are not enforced (docs/audit.md).
 */
export const NETWORK_POLICY = numbered('N', 75);
/** The upstream end-to-end cases. */
export const UPSTREAM_NETPOL = numbered('E', 48);
/** Admin and Baseline tiers. */
export const CLUSTER_TIERS = numbered('C', 59);

/** The upstream conformance cases: of ClusterNetworkPolicy, and the same of its two elders. */
export const UPSTREAM_TIERS = [
  'C:CNPAdminTier',
  'C:CNPBaselineTier',
  'C:AdminNetworkPolicy',
  'C:BaselineAdminNetworkPolicy',
].flatMap(tier =>
  [...EVERY_TIER, ...(tier.includes('Baseline') ? [] : ADMIN_ONLY)].map(name => `${tier}${name}`),
);

/** A scenario judges new connections between addresses; these statements are about something else. */
export const PROVEN_ELSEWHERE: Readonly<Record<string, string>> = {
  N39: 'related ICMP errors belong to a connection that is under way: test/kernel, packets',
  N69: 'link-local addresses have a zone, and no flow does: test/kernel/hostile/linklocal',
  N70: 'about the link that a packet comes by: test/kernel/hostile/forged',
  N71: 'about what is for everybody, and no address: test/kernel/hostile/multicast',
  N74: 'related ICMP errors, as N39: test/kernel/hostile/errors',
  N64: 'what becomes of established connections is implementation-defined: the tests of live connections',
  C38: 'about names in answers of DNS: model/domainname, names/message',
  C40: 'about answers of DNS: test/kernel/names',
  C41: 'about answers of DNS and time: names/leases',
  C42: 'about answers of DNS: names/message',
  C54: 'about who may answer: test/kernel/names/forged',
  C55: 'about answers of DNS: names/leases, test/kernel/names/firstpackets',
  C56: 'about answers of DNS: names/message',
  C57: 'about many answers of DNS: names/leases',
  C58: 'about open connections: test/kernel/names/restart',
  C49: 'status conditions have no form that could be right or wrong; what is wrong with a policy is in its problems',
  C52: 'several clusters: informational, and nothing here knows of a second cluster',
};

/** The statements that scenarios must name. */
export const REQUIRED = [...NETWORK_POLICY, ...UPSTREAM_NETPOL, ...CLUSTER_TIERS, ...UPSTREAM_TIERS].filter(
  statement => !Object.hasOwn(PROVEN_ELSEWHERE, statement),
);

export const STATEMENTS: ReadonlySet<string> = new Set([
  ...NETWORK_POLICY,
  ...UPSTREAM_NETPOL,
  ...CLUSTER_TIERS,
  ...UPSTREAM_TIERS,
]);
