import { expect, test } from 'vitest';
import { FakeKernel } from '../../test/support/kernel/fake.ts';
import { NO_ACK_AT_END, NO_OWNERS } from '../nft/missingfeature.ts';
import { KernelFeatures } from './kernelfeatures.ts';

function features() {
  const lines: string[] = [];
  const log = { warn: (_: object, line: string) => void lines.push(line) };
  return { features: new KernelFeatures('6.1.0', log), lines };
}

test('what a kernel lacks is told once, however often it is opened', () => {
  const { features: seen, lines } = features();
  seen.opened(new FakeKernel({ owners: false }));
  seen.opened(new FakeKernel({ owners: false }));
  seen.opened({ missingFeatures: [NO_ACK_AT_END, NO_OWNERS] });
  expect(seen.missingFeatures).toEqual([NO_OWNERS, NO_ACK_AT_END]);
  expect(lines).toHaveLength(2);
  expect(lines[0]).toBe(`Linux 6.1.0 has no ${NO_OWNERS.lacks}, since 6.9: ${NO_OWNERS.instead}`);
});

test('a kernel that lacks nothing is not spoken of', () => {
  const { features: seen, lines } = features();
  const kernel = new FakeKernel({ owners: true });
  expect(seen.opened(kernel)).toBe(kernel);
  expect(seen.missingFeatures).toEqual([]);
  expect(lines).toEqual([]);
});
