/**
 * How long addresses by name are allowed: until the agent takes them back. The kernel's own time of an element is longer or
 * shorter, because the agent renews it, and it bounds only how long an address stays allowed after the agent has died.
 */
import { COMMENT_BYTES } from '../../compiler/names.ts';
import type { PodKey } from '../../model/cluster.ts';
import { matchesDomainName } from '../../model/domainname.ts';
import type { DnsRecord, DnsSnapshot } from '../../names/dnscache.ts';
import type { Inspection, NamesInspection } from './inspect.ts';

/** The inspection with the agent's times, as `sluice explain` has them; an address that the agent does not know keeps the kernel's. */
export function withLeaseTimes(inspection: Inspection, { cache, nowMs }: DnsSnapshot): Inspection {
  const pods = inspection.pods.map(pod => {
    if (pod.names === undefined) return pod;
    const records = [...cache.of(pod.pod as PodKey)].filter(({ untilMs }) => untilMs > nowMs);
    return { ...pod, names: pod.names.map(names => timed(names, records, nowMs)) };
  });
  return { ...inspection, pods };
}

function timed(names: NamesInspection, records: readonly DnsRecord[], nowMs: number): NamesInspection {
  const addresses = names.addresses.map(each => {
    const ends = records
      .filter(record => record.address === each.address && isOf(names.peers, record))
      .map(({ untilMs }) => untilMs);
    if (ends.length === 0) return each;
    return { address: each.address, leftSeconds: Math.round((Math.max(...ends) - nowMs) / 1_000) };
  });
  return { ...names, addresses: addresses.sort((a, b) => b.leftSeconds - a.leftSeconds) };
}

/** Whether the record is of a name of the set. A set of very many names has not all of them in its comment. */
function isOf(peers: string, { name, oneOf }: DnsRecord): boolean {
  const patterns = peers.split(' ');
  return (
    peers.length >= COMMENT_BYTES ||
    patterns.some(pattern =>
      oneOf === undefined ? matchesDomainName(pattern, name) : oneOf.includes(pattern),
    )
  );
}
