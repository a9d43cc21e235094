/**
 * Denied connections as text. `sluice drops`, `sluice flows` and the log have the same words for a connection; the log
 * has all denials, or of each kind one a minute, of each source few, and of all few at a time.
 */

import type { Rate } from '../../lib/fairness/rates.ts';
import { SourceRates } from '../../lib/fairness/rates.ts';
import { flowText } from '../../semantics/flowtext.ts';
import { type Denial, type DenialEnd, type DialledService, deniersOf } from './denial.ts';

const LOG_MODES = ['none', 'sampled', 'all'] as const;
export type LogMode = (typeof LOG_MODES)[number];

export type Connection = Pick<Denial, 'from' | 'to' | 'protocol' | 'port' | 'names' | 'service' | 'about'>;

/** `guest/visitor -> shop/db:5432/TCP through postgres`, `shop/web -> mail.example.com (192.0.2.25):25/TCP`. */
export function connectionText(connection: Connection): string {
  const { from, to, protocol, port, names, service, about } = connection;
  const at = port === undefined ? '' : `:${port}`;
  const through = service === undefined ? '' : ` through ${serviceText(service, connection)}`;
  const error = about === undefined ? '' : `, an error about ${about}`;
  const target = resolvedText(to, names) ?? endText(to, port !== undefined);
  return `${endText(from)} -> ${target}${at}/${protocol}${through}${error}`;
}

/** The text of an end that is no pod and no node. DNS may have given its address for many names. */
function resolvedText({ address, pod, node }: DenialEnd, names: readonly string[] = []): string | undefined {
  const [first, ...others] = names;
  if (first === undefined || (pod ?? node) !== undefined) return undefined;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return `${first}${more} (${address})`;
}

/** Without the namespace and the port of the pod behind it: only what differs is said. */
function serviceText({ address, port, name }: DialledService, { to, port: at }: Connection): string {
  if (name !== undefined) {
    const [namespace, short = name] = name.split('/');
    const shown = to.pod?.startsWith(`${namespace}/`) ? short : name;
    return port === undefined || port === at ? shown : `${shown}:${port}`;
  }
  const text = flowText({ from: address, to: address, protocol: 0, ...(port !== undefined && { port }) });
  return text.slice(text.indexOf('-> ') + 3, text.lastIndexOf('/'));
}

function endText({ address, pod, node, gone }: DenialEnd, withPort = false): string {
  if (pod !== undefined) return gone ? `${pod} (gone)` : pod;
  if (node !== undefined) return `node/${node}`;
  return withPort && address.includes(':') ? `[${address}]` : address;
}

/** The fields of a log line, in addition to its message. */
export function logFields(denial: Denial): object {
  const { from, to, protocol, port, service, cause } = denial;
  const { reason: _, ...why } = cause;
  return {
    from: from.pod ?? from.address,
    to: to.pod ?? to.address,
    fromAddress: from.address,
    toAddress: to.address,
    protocol,
    port,
    service: service && (service.name ?? service.address),
    ...why,
  };
}

const AGAIN_MS = 60_000;
const MOST_KINDS = 4_096;
/** The rate of all sources together. */
const IN_ALL: Rate = { burst: 20, perSecond: 1 };
/** A port scan makes a separate line for each port: the limit keeps it from using up the lines of other sources. */
const PER_SOURCE: Rate = { burst: 5, perSecond: 1 / 12 };
const MOST_SOURCES = 1_024;

/** Chooses the denials that get a log line, if only some do. */
export class Sampler {
  /** When each kind of denial had its last line. */
  readonly #lines = new Map<string, number>();
  readonly #rates = new SourceRates(PER_SOURCE, IN_ALL, MOST_SOURCES);
  #leftOut = 0;

  /** How many had none since the last line; undefined where this one has none either. */
  take(denial: Denial, nowMs: number): number | undefined {
    const kind = kindOf(denial);
    const last = this.#lines.get(kind);
    const isKnown = last !== undefined && Math.abs(nowMs - last) < AGAIN_MS;
    if (isKnown || !this.#rates.take(sourceOf(denial), nowMs)) {
      this.#leftOut++;
      return undefined;
    }
    this.#lines.delete(kind);
    this.#lines.set(kind, nowMs);
    if (this.#lines.size > MOST_KINDS) this.#lines.delete(this.#lines.keys().next().value!);
    const leftOut = this.#leftOut;
    this.#leftOut = 0;
    return leftOut;
  }
}

/** Packets with a forged address use up no lines of the address's owner. */
function sourceOf({ from, cause: { kind } }: Denial): string {
  return kind === 'link' ? 'link' : (from.pod ?? from.address);
}

function kindOf({ from, to, protocol, port, cause }: Denial): string {
  const deniers = deniersOf(cause);
  const why = deniers.length === 0 ? [cause.kind] : deniers;
  return [from.pod ?? from.address, to.pod ?? to.address, protocol, port, ...why].join(' ');
}
