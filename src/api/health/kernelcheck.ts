/** The check of what this node's kernel can do. */
import { type Check, finding } from './check.ts';

/** What is known of the kernel. */
export interface KernelFacts {
  /** `6.1.0-50-amd64` */
  readonly release: string;
  /** What it lacks, since which version of Linux it would have it, and what is done instead. */
  readonly missingFeatures: readonly {
    readonly lacks: string;
    readonly since: string;
    readonly instead: string;
    /** Somebody is worse off for it, not only slower. */
    readonly matters: boolean;
  }[];
}

export const NOTHING_MISSING: KernelFacts = { release: '', missingFeatures: [] };

export function kernelFeatures({ release, missingFeatures }: KernelFacts): Check {
  const name = 'kernel-features';
  const kernel = `Linux ${release}`.trim();
  if (missingFeatures.length === 0) return finding.ok(name, `${kernel} has all that Sluice makes use of`);
  const list = missingFeatures.map(({ lacks, since, instead }) => `${lacks}, since ${since}: ${instead}`);
  const reason = `${kernel} has no ${list.join('; no ')}`;
  const grave = missingFeatures.find(({ matters }) => matters);
  if (grave === undefined) return finding.ok(name, reason);
  return finding.warn(name, reason, `have Linux ${grave.since} or newer on this node`);
}
