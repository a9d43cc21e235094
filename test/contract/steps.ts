/** Steps for batches, and what they are to lead to: for the contract of Kernel. */

import { expect } from 'vitest';
import type { Kernel } from '../../src/nft/kernel.ts';
import { verdict } from '../../src/nft/match.ts';
import type { Op } from '../../src/nft/plan/op.ts';
import {
  type Chain,
  type ElementKey,
  type ElementValue,
  type Expr,
  type Family,
  MEMBER,
  mapSets,
  type NftRule,
  type NftSet,
  type Ruleset,
  type SetSpec,
} from '../../src/nft/ruleset.ts';

/** Registers what a kernel of its own is to keep. */
export type PromiseOf = (title: string, keep: (kernel: Kernel) => Promise<void>) => void;

export const LOOP: readonly string[] = ['ELOOP', 'EMLINK'];

export const PEERS: SetSpec = { name: 'peers', key: ['ipv4_addr'], verdicts: false, interval: false };
export const PEERS6: SetSpec = { name: 'peers6', key: ['ipv6_addr'], verdicts: false, interval: false };
export const PODS: SetSpec = { name: 'pods', key: ['ipv4_addr'], verdicts: true, interval: false };
export const PORTS: SetSpec = {
  name: 'ports',
  key: ['inet_proto', 'inet_service'],
  verdicts: true,
  interval: false,
};

export const HOST_PORTS: SetSpec = {
  name: 'host-ports',
  key: ['inet_proto', 'inet_service'],
  verdicts: false,
  data: ['ipv4_addr', 'inet_service'],
  interval: false,
};
export const PAIRS: SetSpec = {
  name: 'pairs',
  key: ['ipv4_addr', 'ipv4_addr'],
  verdicts: false,
  interval: false,
};
export const LINKS: SetSpec = { name: 'links', key: ['iface_index'], verdicts: false, interval: false };

export type Entry = readonly [ElementKey, ElementValue];

/** A base chain that jumps to `target`: only what a packet can reach is checked for circles. */
export function hooked(hook: 'forward' | 'input', target: string, make = true): Op[] {
  return [
    ...(make ? [addChain(target)] : []),
    { op: 'addChain', family: 'ip', chain: hook, hook: { hook, priority: 0, policy: 'accept' } },
    addRule(hook, [verdict('jump', target)]),
  ];
}

export const addTable = (family: Family = 'ip'): Op => ({ op: 'addTable', family });
export const addChain = (chain: string, family: Family = 'ip'): Op => ({ op: 'addChain', family, chain });
export const delChain = (chain: string): Op => ({ op: 'delChain', family: 'ip', chain });
export const flushChain = (chain: string): Op => ({ op: 'flushChain', family: 'ip', chain });
export const addRule = (chain: string, exprs: readonly Expr[]): Op => ({
  op: 'addRule',
  family: 'ip',
  chain,
  rule: { exprs },
});
export const addSet = (set: SetSpec, size = 128, family: Family = 'ip'): Op => ({
  op: 'addSet',
  family,
  set,
  size,
});
export const delSet = (name: string): Op => ({ op: 'delSet', family: 'ip', set: name });
export const delElements = (set: SetSpec, keys: readonly ElementKey[]): Op => ({
  op: 'delElements',
  family: 'ip',
  set,
  keys,
});

export function addElements(
  set: SetSpec,
  elements: readonly (ElementKey | Entry)[],
  family: Family = 'ip',
): Op {
  const entries = elements.map(
    (element): Entry => (typeof element === 'string' ? [element, MEMBER] : element),
  );
  return { op: 'addElements', family, set, elements: entries };
}

export const jumpTo = (chain: string): Entry => ['10.0.0.1', { verdict: { kind: 'jump', chain } }];

export const members = (...keys: ElementKey[]): Map<ElementKey, ElementValue> =>
  new Map(keys.map(key => [key, MEMBER]));
export const set = (spec: SetSpec, elements: readonly Entry[] = []): NftSet => ({
  ...spec,
  elements: new Map(elements),
});
export const chain = (name: string, ...rules: NftRule[]): Chain => ({ name, rules });

export type TableText = { sets: readonly NftSet[]; chains: readonly Chain[] };

export function ruleset(tables: Partial<Record<Family, TableText>>): Ruleset {
  return {
    tables: new Map(
      Object.entries(tables).map(([family, { sets, chains }]) => [
        family as Family,
        {
          sets: new Map(sets.map(set => [set.name, set])),
          chains: new Map(chains.map(chain => [chain.name, chain])),
        },
      ]),
    ),
  };
}

/** What a kernel holds, sizes aside. */
export async function actualState(kernel: Kernel): Promise<Ruleset> {
  const { ruleset } = await kernel.dump();
  return mapSets(ruleset, ({ size: _, ...set }) => set);
}

export async function elementsOf(
  kernel: Kernel,
  name: string,
): Promise<ReadonlyMap<ElementKey, ElementValue>> {
  return (await kernel.dump()).ruleset.tables.get('ip')!.sets.get(name)!.elements;
}

/**
 * The batch is refused with one of `codes`, in the name of its step `step` where that is given, and everything is
 * as it was, the generation too.
 */
export async function refused(
  kernel: Kernel,
  codes: string | readonly string[],
  ops: readonly Op[],
  step?: number,
  expected?: number,
): Promise<void> {
  const before = await kernel.dump();
  const error = await kernel.commit(ops, expected).then(
    () => expect.fail(`the batch went in: ${ops.map(({ op }) => op).join(', ')}`),
    (error: unknown) => error as { name?: string; code?: string; op?: Op },
  );
  expect(error).toMatchObject({ name: 'KernelError' });
  expect([codes].flat(), String(error)).toContain(error.code);
  if (step !== undefined) expect(error.op).toBe(ops[step]);
  expect(await kernel.dump()).toEqual(before);
}
