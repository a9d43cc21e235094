/** The options and facts that an agent has in addition to the cluster. */
import fc from 'fast-check';
import { LIMITS } from '../../../src/compiler/live/limits.ts';
import type { DnsQueue } from '../../../src/compiler/namespeers.ts';
import type { UnknownPods } from '../../../src/model/podcidrs.ts';
import type { PodLinks } from '../../../src/model/podlinks.ts';
import { DNS_QUEUE } from '../oracle/resolved.ts';

export interface Enforced {
  readonly unknownPods: UnknownPods;
  readonly podLinks: PodLinks;
  readonly dnsQueue: DnsQueue | undefined;
  /** The number of entries from which a namespace counts as oversized. */
  readonly mostEntries?: number;
}

/** An agent without options. */
export const PLAIN: Enforced = { unknownPods: 'allow', podLinks: 'others', dnsQueue: undefined };

export const enforced: fc.Arbitrary<Enforced> = fc.record({
  unknownPods: fc.constantFrom('allow', 'deny'),
  podLinks: fc.constantFrom('ours', 'others'),
  dnsQueue: fc.constantFrom(undefined, DNS_QUEUE, DNS_QUEUE),
  mostEntries: fc.constantFrom(LIMITS.mostEntries, 0, 8),
});
