import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Address } from '../model/address.ts';
import { type Lease, LeaseTable, newLease } from './leasetable.ts';

const lease = (name: string, address: string) =>
  newLease(name, address as Address, [], { untilMs: 0, answeredMs: 0, from: undefined });

it('is a list in the order of telling, whatever comes and goes', () => {
  const step = fc.record({
    name: fc.constantFrom('a', 'b', 'c'),
    address: fc.constantFrom('1', '2', '3'),
    act: fc.constantFrom('put', 'renew', 'delete'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), steps => {
      const table = new LeaseTable();
      let list: Lease[] = [];
      for (const { name, address, act } of steps) {
        const found = table.find(name, address as Address);
        expect(found).toBe(list.find(each => each.name === name && each.address === address));
        list = list.filter(each => each !== found);
        if (found !== undefined && act === 'renew') {
          table.renew(found);
          list.push(found);
        } else if (found !== undefined) table.delete(found);
        if (act === 'put') {
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
