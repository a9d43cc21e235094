/** What a test opens in the kernel: closed behind it, the latest first. */
import { afterEach } from 'vitest';
import { openNftKernel } from '../../src/kernel/netlink/nftables/nft-kernel.ts';
import type { Kernel } from '../../src/nft/kernel.ts';
import { Netns } from './netns.ts';

const opened: { close(): void }[] = [];

afterEach(() => {
  for (const one of opened.splice(0)) one.close();
});

export function closedAfterTest<T extends { close(): void }>(one: T): T {
  opened.unshift(one);
  return one;
}

export function namespace(): Netns {
  return closedAfterTest(new Netns());
}

export async function kernelIn(
  netns: Netns,
  options: Parameters<typeof openNftKernel>[0] = {},
): Promise<Kernel> {
  return closedAfterTest(await netns.run(() => openNftKernel(options)));
}
