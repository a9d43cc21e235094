import type { Address } from './address.ts';

/**
 * Addresses at which clouds give machines their credentials, in addition to the link-local 169.254.169.254: those of
 * Azure, Alibaba and Oracle, and the IPv6 ones of AWS and Google. They are fixed, and meant for the node only.
 */
export const METADATA_SERVICES: ReadonlySet<string> = new Set<Address>([
  '168.63.129.16',
  '100.100.100.200',
  '192.0.0.192',
  'fd00:ec2::254',
  'fd20:ce::254',
] as Address[]);
