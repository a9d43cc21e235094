import { afterEach } from 'vitest';
import { openNftKernel } from '../../src/netlink/nft-kernel.ts';
import { kernelContract } from '../contract/kernel-contract.ts';
import { Netns } from './netns.ts';

let netns: Netns | undefined;

afterEach(() => netns?.close());

const QUIET_MS = { 'on a thread of its own': Number.POSITIVE_INFINITY, 'on the event loop': 0 };

for (const [where, quietMs] of Object.entries(QUIET_MS))
  kernelContract(`nf_tables over netlink, ${where}`, () => {
    netns = new Netns();
    return netns.run(() => openNftKernel({ quietMs }));
  });
