/** Pods that ask: one name after another with a connection to each, or as many as they can. */
import { FREE, NAMED, SERVICE } from './manifests.ts';
import type { NamesSite } from './site.ts';

export interface Visited {
  readonly answered: number;
  /** First packets that were not answered. */
  readonly lost: number;
  /** Time from each question to its answer, in µs. */
  readonly tookUs: readonly number[];
}

/**
 * `named`: a pod with a rule by name, whose answers wait for the agent; `free`: the same questions, whose answers do
 * not wait.
 */
export async function visit(
  site: NamesSite,
  host: 'named' | 'free',
  first: number,
  count: number,
): Promise<Visited> {
  const [v4, v6] = host === 'named' ? NAMED[0]! : FREE;
  const words = await site.tell(host, 'visit', SERVICE, v4!, v6!, String(first), String(count));
  const [answered = 0, lost = 0, ...tookUs] = words.trim().split(' ').map(Number);
  return { answered, lost, tookUs };
}

export interface Flooded {
  readonly answered: number;
  readonly perSecond: number;
}

/** Each of the pods with a rule by name has one question open at a time. `rate` is of all of them; 0: what they can. */
export async function flood(site: NamesSite, first: number, count: number, rate = 0): Promise<Flooded> {
  const sources = NAMED.map(([v4]) => v4);
  const args = [SERVICE, String(first), String(count), String(rate), ...sources];
  const [answered = 0, tookUs = 0] = (await site.tell('named', 'flood', ...args))
    .trim()
    .split(' ')
    .map(Number);
  return { answered, perSecond: (answered * 1e6) / tookUs };
}
