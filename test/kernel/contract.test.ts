import { afterEach } from 'vitest';
import { openNftKernel } from '../../src/netlink/nft-kernel.ts';
import { kernelContract } from '../contract/kernel-contract.ts';
import { Netns } from './netns.ts';

let netns: Netns | undefined;

afterEach(() => netns?.close());

kernelContract('nf_tables over netlink', () => {
  netns = new Netns();
  return netns.run(() => openNftKernel());
});
