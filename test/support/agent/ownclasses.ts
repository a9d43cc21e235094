/** Pods of one namespace, each of which is in a class of its own, and what is made of their classes. */
import { vi } from 'vitest';
import { Builder } from '../../../src/compiler/builder.ts';
import { allowPort, ingressPolicy, podEvent, policyEvent, tenantPod } from './tenants.ts';

export const PODS = [1, 2, 3, 4, 5];

export const ownPod = (n: number) => podEvent(tenantPod('tenant', n, { labels: { app: `a${n}` } }));

/** A policy of that pod alone. */
export function own(n: number, port = 80) {
  const requirements = [{ key: 'app', operator: 'In' as const, values: [`a${n}`] }];
  return policyEvent(ingressPolicy(`tenant/own${n}`, [allowPort(port)], requirements));
}

/** How many chains are made by it. */
export function chainsMade(work: () => void): number {
  const made = vi.spyOn(Builder.prototype, 'addChain');
  work();
  const { length } = made.mock.calls;
  made.mockRestore();
  return length;
}
