/** A domain name as the destination of a trace: rules know addresses, so it means one that DNS gave the pod. */
import { type NamedEndpoint, parseEndpoint } from '../answers/questions/endpoint.ts';
import { familyOf } from '../model/address.ts';
import { addressOwners } from '../model/addressowners.ts';
import type { Cluster, PodKey } from '../model/cluster.ts';
import type { DnsSnapshot } from '../names/dnscache.ts';
import { FlowTextError } from '../semantics/flowtext.ts';

export interface TraceEnd {
  /** An end as text, in the form that `trace` takes. */
  readonly text: string;
  /** The address that is traced for the name. */
  readonly note?: string;
}

/** `cluster` is where the agent's pods are. Throws FlowTextError where the name has no address. */
export function traceEnd(
  from: string,
  to: string,
  known: DnsSnapshot | undefined,
  cluster: Cluster | undefined,
  whyUnknown = 'ask without --manifests, or for an address',
): TraceEnd {
  const end = parsed(to);
  if (end?.name.kind !== 'domain') return { text: to };
  const { name } = end.name;
  if (known === undefined)
    throw new FlowTextError(
      `"${to}": rules have addresses only, and which DNS answers pods received is known to the agent alone: ${whyUnknown}`,
    );
  const source = parsed(from);
  const pod = podNamed(source, cluster) ?? from.replace(/@[46]$/, '');
  const elsewhere = cluster?.pods.get(pod as PodKey)?.node;
  if (known.node !== undefined && elsewhere !== undefined && elsewhere !== known.node)
    throw new FlowTextError(
      `"${to}": only the agent of ${elsewhere} knows which DNS answers ${pod} received: ask there, or for an address`,
    );
  const family = end.family ?? source?.family;
  const resolved = [...known.cache.all()].filter(
    record =>
      record.pod === pod &&
      record.name === name &&
      record.untilMs > known.nowMs &&
      (family === undefined || familyOf(record.address) === family),
  );
  const last = resolved.at(-1);
  if (last === undefined)
    throw new FlowTextError(`"${to}": ${pod} has received no DNS answer for ${name} that holds now`);
  const host = last.address.includes(':') ? `[${last.address}]` : last.address;
  const tail = `${end.port === undefined ? '' : `:${end.port}`}${end.protocol === undefined ? '' : `/${end.protocol}`}`;
  const others = resolved.length === 1 ? '' : `, the latest of ${resolved.length}`;
  return { text: host + tail, note: `${name} is ${last.address} to ${pod}${others}` };
}

/** Answers of DNS belong to a pod, also if the source is given by its address. */
function podNamed(source: NamedEndpoint | undefined, cluster: Cluster | undefined) {
  if (source?.name.kind !== 'address' || cluster === undefined) return undefined;
  return addressOwners(cluster).get(source.name.address)?.key;
}

function parsed(text: string): NamedEndpoint | undefined {
  try {
    return parseEndpoint(text);
  } catch {
    return undefined;
  }
}
