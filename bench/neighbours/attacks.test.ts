import { expect, test } from 'vitest';
import { decodeObject } from '../../src/inputs/kube/decode/decode.ts';
import { ATTACKS, type Attack } from './attacks.ts';

test.each(ATTACKS.filter(({ name }) => name.startsWith('most-')))(
  'the policy of $name is within its budget, whatever its edit: else it would not be compiled',
  ({ policy }) => {
    for (const edit of [0, 1]) {
      const { event, problems } = decodeObject(policy(edit));
      expect([event?.type, problems]).toEqual(['policy', []]);
    }
  },
);

test.each(
  ATTACKS.filter(({ name }) =>
    /^(relabels|values|tenant-namespace|small-and-many|members|classes|named-ports|namespaces)$/.test(name),
  ),
)('so is that of $name, and what is written beside it can be read', (attack: Attack) => {
  const objects = [0, 1, 2].flatMap(edit => [attack.policy(edit), ...(attack.besides?.(edit) ?? [])]);
  expect(objects.flatMap(object => decodeObject(object).problems)).toEqual([]);
});

test.each(ATTACKS)('an edit of $name changes its policy', ({ policy }) => {
  expect(JSON.stringify(policy(1))).not.toBe(JSON.stringify(policy(0)));
});
