import { expect, test } from 'vitest';
import { decodeObject } from '../../kube/decode/decode.ts';
import { ATTACKS } from './attacks.ts';

test.each(ATTACKS.filter(({ name }) => name.startsWith('most-')))(
  'the policy of $name is within its budget, whatever its edit: else it would not be compiled',
  ({ policy }) => {
    for (const edit of [0, 1]) {
      const { event, problems } = decodeObject(policy(edit));
      expect([event?.type, problems]).toEqual(['policy', []]);
    }
  },
);

test.each(ATTACKS)('an edit of $name changes its policy', ({ policy }) => {
  expect(JSON.stringify(policy(1))).not.toBe(JSON.stringify(policy(0)));
});
