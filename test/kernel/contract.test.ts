import { afterEach } from 'vitest';
import { type NftKernelOptions, openNftKernel } from '../../src/kernel/netlink/nftables/nft-kernel.ts';
import { NO_ACK_AT_END, NO_OWNERS } from '../../src/nft/missingfeature.ts';
import { kernelContract } from '../contract/kernel-contract.ts';
import { Netns } from './netns.ts';

let netns: Netns | undefined;

afterEach(() => netns?.close());

const WAYS: Record<string, NftKernelOptions> = {
  'on a thread of its own': { quietMs: Number.POSITIVE_INFINITY },
  'on the event loop': { quietMs: 0 },
  'like Linux 6.1': { quietMs: 0, without: [NO_ACK_AT_END, NO_OWNERS] },
};

for (const [how, options] of Object.entries(WAYS))
  kernelContract(`nf_tables over netlink, ${how}`, () => {
    netns = new Netns();
    return netns.run(() => openNftKernel(options));
  });
