/** Checks of the protection of a pod from its start to its first packet. */

import type { Ours } from '../../kernel/host/facts.ts';
import { cidrText } from '../../model/address.ts';
import { type Check, finding } from './check.ts';

/** How pods that start get their rules. */
export interface PodStarts {
  readonly gate:
    | { readonly kind: 'off' | 'missed'; readonly why: string }
    | {
        readonly kind: 'connected';
        readonly runtime: string;
        readonly inTime: number;
        readonly late: number;
      }
    | { readonly kind: 'lost'; readonly why: string };
  readonly unknownPods: 'deny' | 'allow';
  /** Why unknown pods are treated as they are. */
  readonly why: string;
}

export const NO_GATE: PodStarts = {
  gate: { kind: 'off', why: 'not asked for' },
  unknownPods: 'allow',
  why: 'the start gate is off',
};

export function startGate({ gate, unknownPods }: PodStarts): Check {
  const name = 'start-gate';
  const meanwhile =
    unknownPods === 'deny'
      ? 'a pod that starts is closed until the API server reports its address'
      : 'the first packets of a pod may pass before its rules are in force';
  switch (gate.kind) {
    case 'off':
      return finding.ok(name, `off (${gate.why}): ${meanwhile}`);
    case 'missed':
      return finding.warn(
        name,
        `off (${gate.why}): ${meanwhile}`,
        'have the runtime offer NRI and restart the agent, or pass --start-gate=off to accept this',
      );
    case 'lost':
      return finding.warn(
        name,
        `not connected to the runtime (${gate.why}): ${meanwhile}`,
        'see whether the container runtime runs, has NRI on, and its socket is mounted',
      );
    case 'connected': {
      const { runtime, inTime, late } = gate;
      const reason = `${runtime} waits for the rules of each pod: ${inTime} started with them, ${late} without`;
      return finding.ok(name, reason);
    }
  }
}

export function unknownPods({ unknownPods, why }: PodStarts, { podCidrs }: Ours): Check {
  const name = 'unknown-pods';
  if (unknownPods === 'allow') return finding.ok(name, `unknown pod addresses: allowed (${why})`);
  if (podCidrs.length === 0) {
    return finding.warn(
      name,
      'unknown pod addresses should be denied, but the node has no pod CIDR to know them by',
      'have the cluster give pod CIDRs to its nodes (kube-controller-manager --allocate-node-cidrs)',
    );
  }
  const where = podCidrs.map(cidrText).join(' and ');
  return finding.ok(name, `unknown pod addresses: denied in ${where} (${why})`);
}
