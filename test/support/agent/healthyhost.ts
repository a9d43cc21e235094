import type { Host } from '../../../src/kernel/host/facts.ts';

/** A machine with which no check finds anything wrong. */
export const HEALTHY_HOST: Host = {
  forwarding: { ip: { value: true }, ip6: { value: true } },
  bridges: { value: [] },
  bridgeCalls: { ip: { value: true }, ip6: { value: true } },
  conntrack: { value: { count: 1, max: 100 } },
  routes: { ip: { value: [] }, ip6: { value: [] } },
  processes: { value: [] },
  foreignRules: { value: [] },
  foreignChains: { value: [] },
  flowtables: { value: [] },
  virtualServices: { value: 0 },
  localnet: { value: [] },
  sourceRoutes: { value: [] },
};
