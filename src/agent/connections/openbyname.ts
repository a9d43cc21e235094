/**
 * Connections that were open before this agent started, and that only a rule by name can have allowed. Which DNS
 * answers their pods had received is not known, because a lease may end while its connections are open (C41). These
 * connections are left alone as long as the pod's rules by name do not change.
 */

import { getOrMake } from '../../lib/collections/getormake.ts';
import type { Address } from '../../model/address.ts';
import type { Flow } from '../../model/flow.ts';
import type { DnsCache, DnsRecord } from '../../names/dnscache.ts';
import type { NamesPod, Subjects } from '../../names/subjects.ts';
import type { Conntrack } from '../../nft/conntrack.ts';
import type { Op } from '../../nft/plan/op.ts';
import type { Ruleset } from '../../nft/ruleset.ts';
import { ConnectionChecker } from './connectionchecker.ts';
import { withKnownNames } from './knownnames.ts';

/** Those of `subjects` whose rules were programmed before this batch, with the sets that were: of others nothing is taken over. */
export function programmedBefore({ pods, sets }: Subjects, ops: readonly Op[], podSet: string): Subjects {
  const made = new Set(ops.flatMap(op => (op.op === 'addSet' ? [op.set.name] : [])));
  if (made.has(podSet)) return { pods: [], sets: [] };
  const added = new Set(
    ops.flatMap(op =>
      op.op === 'addElements' && op.set.name === podSet ? op.elements.map(([key]) => key) : [],
    ),
  );
  return {
    pods: pods.flatMap(pod => {
      const own = pod.sets.filter(name => !made.has(name));
      const wasProgrammed = own.length > 0 && pod.addresses.every(address => !added.has(address));
      return wasProgrammed ? [{ ...pod, sets: own }] : [];
    }),
    sets: sets.filter(({ name }) => !made.has(name)),
  };
}

export interface OpenByName {
  readonly conntrack: Conntrack;
  readonly ruleset: Ruleset;
  readonly own: ReadonlySet<Address>;
  /** The subjects of names in the tables of a predecessor. */
  readonly inherited: Subjects;
  readonly cache: DnsCache;
  /** Milliseconds since 1970: the assumed records have ended by this time. */
  readonly nowMs: number;
}

/** The DNS records that must be assumed so that these connections are allowed. They allow no new connection. */
export async function openByName(known: OpenByName): Promise<DnsRecord[]> {
  const { conntrack, ruleset, own, inherited, cache, nowMs } = known;
  if (inherited.pods.length === 0) return [];
  const owners = new Map(
    inherited.pods.flatMap(pod => pod.addresses.map(address => [address, pod] as const)),
  );
  const checker = (resolved: DnsCache | undefined) =>
    new ConnectionChecker(withKnownNames(ruleset, { subjects: inherited, cache: resolved }), () => own);
  const [now, ifTold] = [checker(cache), checker(undefined)];
  const wanted = (flow: Flow) => owners.has(flow.from) && now.denies(flow) && !ifTold.denies(flow);
  const found = new Map<string, DnsRecord>();
  /** One list for all connections of a pod: there may be thousands of both. */
  const patterns = new Map<NamesPod, readonly string[]>();
  await conntrack.read([...owners.keys()], wanted, ({ flow: { from, to } }) => {
    const pod = owners.get(from)!;
    const oneOf = getOrMake(patterns, pod, () => patternsOf(pod, inherited));
    const times = { toldMs: nowMs, untilMs: nowMs };
    found.set(`${pod.key} ${to}`, { pod: pod.key, address: to, name: `@open ${to}`, ...times, oneOf });
  });
  return [...found.values()];
}

function patternsOf(pod: NamesPod, { sets }: Subjects): readonly string[] {
  return sets.filter(({ name }) => pod.sets.includes(name)).flatMap(({ patterns }) => patterns);
}
