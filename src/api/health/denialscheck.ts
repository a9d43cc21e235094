/** The check of denied connections: are they named? */
import type { Rate } from '../../lib/fairness/tokenbucket.ts';
import { type Check, finding } from './check.ts';

/** Services by whose names denials are told. */
export interface ServicesFacts {
  readonly known: number;
  /** Why some have no name. */
  readonly problem?: string;
}

/** Counts of packets since `sinceMs`; `attempts` are of connections. */
export interface DenialsFacts {
  readonly sinceMs: number;
  /** Absent where nothing is handed over to be named. */
  readonly limits?: { readonly perSource: Rate; readonly inAll: Rate };
  /** Why nothing is named. */
  readonly error?: string;
  /** Absent where nothing is named. */
  readonly services?: ServicesFacts;
  readonly denied: number;
  /** Within the limits. */
  readonly handed: number;
  readonly attempts: number;
  readonly read: number;
  /** Handed over, and not read in time, or not to be read or named. */
  readonly lost: number;
}

export const NO_DENIALS: DenialsFacts = { sinceMs: 0, denied: 0, handed: 0, attempts: 0, read: 0, lost: 0 };

const NAME = 'denials';

/** A warning at most: what is denied is denied. */
export function denials({ limits, error, services, denied, handed, attempts, lost }: DenialsFacts): Check {
  if (error !== undefined)
    return finding.warn(NAME, `denied connections are counted, and not named: ${error}`, remedyOf(error));
  if (limits === undefined)
    return finding.ok(NAME, 'denied connections are counted, and not named, as the agent was asked');
  const missed = lost === 0 ? '' : `; ${lost} were not read`;
  const text = `${attempts} denied connections were named, of ${denied} packets that were denied ${handed} within the limits${missed}`;
  const unnamed = services?.problem === undefined ? '' : `; Services have no names: ${services.problem}`;
  return finding.ok(NAME, text + unnamed);
}

function remedyOf(error: string): string {
  return /another process/.test(error)
    ? 'end the other reader of the log group (ulogd?); where it is to stay, nothing needs to be done: --denials=0 would end its lines too'
    : "see the agent's log";
}
