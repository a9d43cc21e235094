/** A named check of the node's pod network, as data. */
export type CheckState = 'ok' | 'warn' | 'fail' | 'unknown';

export interface Check {
  readonly name: CheckName;
  readonly state: CheckState;
  /** The finding, as a sentence. */
  readonly reason: string;
  /** What an administrator can do about it; empty if nothing needs to be done. */
  readonly remedy: string;
}

export const CHECK_NAMES = [
  'sources-synced',
  'own-node',
  'kernel-equals-desired',
  'last-commit',
  'policies-programmed',
  'memory',
  'kernel-features',
  'names',
  'denials',
  'ip-forward',
  'ip6-forward',
  'bridge-traffic-seen',
  'conntrack-fill',
  'pod-cidr-route',
  'pod-addresses',
  'node-routes',
  'flannel',
  'foreign-enforcer',
  'pod-sources',
  'pod-links',
  'ipvs',
  'flowtables',
  'route-localnet',
  'source-routes',
  'start-gate',
  'unknown-pods',
  'address-owners',
  'last-event',
] as const;

export type CheckName = (typeof CHECK_NAMES)[number];

/** While one of these is not ok, it is not known that policy is enforced, so the node is not ready. */
const ESSENTIAL: readonly CheckName[] = ['sources-synced', 'kernel-equals-desired', 'last-commit'];

/**
 * If one of these checks fails, the node denies connections that policy allows, but allows none that policy denies. So
 * it is no reason to keep pods off the node.
 */
const DENIES_MORE: readonly CheckName[] = ['names'];

/** Ready: no check fails apart from those that only deny more, and the essential checks are ok. */
export function isReady(checks: readonly Check[]): boolean {
  return whyNotReady(checks).length === 0;
}

/** The checks that keep the node from being ready. */
export function whyNotReady(checks: readonly Check[]): Check[] {
  return checks.filter(({ name, state }) =>
    ESSENTIAL.includes(name) ? state !== 'ok' : state === 'fail' && !DENIES_MORE.includes(name),
  );
}

/** One function for each state of a finding, named after the state. */
export const finding = {
  ok: (name: CheckName, reason: string): Check => ({ name, state: 'ok', reason, remedy: '' }),
  warn: (name: CheckName, reason: string, remedy: string): Check => ({ name, state: 'warn', reason, remedy }),
  fail: (name: CheckName, reason: string, remedy: string): Check => ({ name, state: 'fail', reason, remedy }),
  unknown: (name: CheckName, reason: string, remedy = ''): Check => ({
    name,
    state: 'unknown',
    reason,
    remedy,
  }),
};
