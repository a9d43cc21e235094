import type { Address } from './address.ts';

/**
 * Where clouds give machines their credentials, beside the link-local 169.254.169.254: of Azure, Alibaba and Oracle, and
 * by IPv6 of AWS and Google. They are fixed, and they are the node's own business.
 */
export const METADATA_SERVICES: ReadonlySet<string> = new Set<Address>([
  '168.63.129.16',
  '100.100.100.200',
  '192.0.0.192',
  'fd00:ec2::254',
  'fd20:ce::254',
] as Address[]);
