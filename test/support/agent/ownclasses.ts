/** Pods of one namespace, each of which is in a class of its own, and what is made of their classes. */
import { vi } from 'vitest';
import { Builder } from '../../../src/compiler/builder.ts';
import { allowPort, ingressPolicy, isIn, podEvent, policyEvent, tenantPod } from './tenants.ts';

export const PODS = [1, 2, 3, 4, 5];

export const ownPod = (n: number) => podEvent(tenantPod('tenant', n, { labels: { app: `a${n}` } }));

/** A policy of that pod alone. */
export function own(n: number, port = 80) {
  return policyEvent(ingressPolicy(`tenant/own${n}`, [allowPort(port)], isIn('app', `a${n}`)));
}

export const OWN_CLASSES = [...PODS.map(ownPod), ...PODS.map(n => own(n))];

/** A policy of them all. */
export const ofAll = (name: string, port: number) =>
  policyEvent(ingressPolicy(`tenant/${name}`, [allowPort(port)]));

/** How many chains are made by it. */
export function chainsMade(work: () => void): number {
  const made = vi.spyOn(Builder.prototype, 'addChain');
  work();
  const { length } = made.mock.calls;
  made.mockRestore();
  return length;
}
