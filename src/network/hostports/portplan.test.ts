import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Address } from '../../model/address.ts';
import type { HostPortMapping } from '../../model/hostport.ts';
import { type PortChange, portPlan } from './hostports.ts';

const at = (text: string) => text as Address;
const A = at('10.0.0.1');
const B = at('10.0.0.2');
const element = (hostPort: number, pod: Address, owner: string): HostPortMapping => ({
  protocol: 'TCP',
  hostPort,
  podPort: 8080,
  pod,
  owner,
});
const open = (pod: string, address: Address, ...hostPorts: number[]): PortChange => ({
  open: {
    pod: `shop/${pod}`,
    ports: hostPorts.map(hostPort => ({ protocol: 'TCP', hostPort, podPort: 8080 })),
    addresses: [address],
  },
});

test('of two pods that want one port at once, the first gets it; the other keeps its other ports closed too', () => {
  const plan = portPlan([], undefined, [open('a', A, 80), open('b', B, 81, 80)]);
  expect(plan.add).toEqual([element(80, A, 'shop/a')]);
  expect(plan.refusals.map(refusal => refusal?.message)).toEqual([
    undefined,
    'host port 80/TCP leads to port 8080 of shop/a already; shop/b does not get it',
  ]);
});

test('a port that a dead pod had is free; a port asked for again stays as it is', () => {
  const actual = [element(80, A, 'shop/a'), element(81, B, 'shop/b')];
  const plan = portPlan(actual, new Set([B]), [open('b', B, 81, 80)]);
  expect(plan).toEqual({
    remove: [actual[0]],
    add: [element(80, B, 'shop/b')],
    dead: [actual[0]],
    refusals: [undefined],
  });
});

test('what is closed and opened again in one go is made anew', () => {
  const actual = [element(80, A, 'shop/a')];
  const plan = portPlan(actual, undefined, [{ close: [A] }, open('b', A, 80)]);
  expect([plan.remove, plan.add]).toEqual([actual, [element(80, A, 'shop/b')]]);
});

test('who gets an address gets none of the ports that led to it', () => {
  const actual = [element(80, A, 'shop/a'), element(81, A, 'shop/a'), element(82, B, 'shop/b')];
  const plan = portPlan(actual, new Set([A, B]), [open('c', A, 81)]);
  expect(plan.remove).toEqual(actual.slice(0, 2));
  expect(plan.add).toEqual([element(81, A, 'shop/c')]);
});

test('changes made together leave what they leave one after the other', () => {
  const addresses = [A, B, at('10.0.0.3')];
  const port = fc.integer({ min: 80, max: 83 });
  const changeAmong = (count: number) =>
    fc.oneof(
      fc
        .record({ who: fc.nat({ max: count - 1 }), ports: fc.array(port, { maxLength: 3 }) })
        .map(({ who, ports }) => open(`p${who}`, addresses[who]!, ...ports)),
      fc.nat({ max: count - 1 }).map((who): PortChange => ({ close: [addresses[who]!] })),
      fc.constant<PortChange>({}),
    );
  const living = 2;
  const alive = new Set(addresses.slice(0, living));
  const make = (actual: readonly HostPortMapping[], changes: readonly PortChange[]) => {
    const { remove, add, refusals } = portPlan(actual, alive, changes);
    const ports = [...actual.filter(one => !remove.includes(one)), ...add];
    return { ports, refusals: refusals.map(refusal => refusal?.message) };
  };
  const both = fc.tuple(
    fc.array(changeAmong(addresses.length)),
    fc.array(changeAmong(living), { minLength: 1 }),
  );
  fc.assert(
    fc.property(both, ([earlier, changes]) => {
      const actual = portPlan([], undefined, earlier).add;
      let alone = { ports: actual, refusals: [] as (string | undefined)[] };
      for (const change of changes) {
        const { ports, refusals } = make(alone.ports, [change]);
        alone = { ports, refusals: [...alone.refusals, ...refusals] };
      }
      const together = make(actual, changes);
      expect(new Set(together.ports)).toEqual(new Set(alone.ports));
      expect(together.refusals).toEqual(alone.refusals);
    }),
  );
});
