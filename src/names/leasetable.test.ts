import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Address } from '../model/address.ts';
import { type Lease, LeaseTable } from './leasetable.ts';

const lease = (name: string, address: string): Lease => ({
  name,
  address: address as Address,
  sets: [],
  untilMs: 0,
  toldMs: 0,
  kernelUntilMs: 0,
  older: undefined,
  newer: undefined,
});

it('is a list in the order of telling, whatever comes and goes', () => {
  const step = fc.record({
    name: fc.constantFrom('a', 'b', 'c'),
    address: fc.constantFrom('1', '2', '3'),
    put: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), steps => {
      const table = new LeaseTable();
      let list: Lease[] = [];
      for (const { name, address, put } of steps) {
        const found = table.find({ name, address: address as Address });
        expect(found).toBe(list.find(each => each.name === name && each.address === address));
        if (found !== undefined) table.delete(found);
        list = list.filter(each => each !== found);
        if (put) {
          const made = lease(name, address);
          table.add(made);
          list.push(made);
        }
        expect([...table.oldestFirst()]).toEqual(list);
        expect(table.size).toBe(list.length);
        for (const each of ['a', 'b', 'c']) {
          const own = list.filter(other => other.name === each);
          expect(table.countOf(each)).toBe(own.length);
          expect(table.oldestOf(each)).toBe(own[0]);
        }
      }
    }),
  );
});
