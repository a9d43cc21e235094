import { expect, test } from 'vitest';
import type { Address } from '../../model/address.ts';
import type { Denial } from './denial.ts';
import { denialRecord } from './telemetry.ts';

test('denialRecord() names every policy that denies, as `sluice drops` does', () => {
  const policies = ['NetworkPolicy shop/db', 'NetworkPolicy shop/default-deny'] as const;
  const denial: Denial = {
    ...{ number: 1, atMs: 1, lastMs: 1, times: 1, protocol: 'TCP', port: 80 },
    from: { address: '10.0.0.1' as Address },
    to: { address: '10.0.0.2' as Address },
    cause: { kind: 'policy', policy: policies[0], policies, reason: 'r' },
  };
  expect(denialRecord(denial).attributes).toMatchObject({
    'sluice.policy': policies[0],
    'sluice.policies': policies,
  });
  const cause = { kind: 'link', reason: 'r' } as const;
  expect(denialRecord({ ...denial, cause }).attributes).not.toHaveProperty('sluice.policies');
});
