/** What DNS has answered to pods, asked of the agents of their nodes from a workstation: nobody else knows it. */

import { asMap, asMaps } from '../../inputs/kube/report/identity.ts';
import { jsonOf } from '../../lib/text/jsonof.ts';
import { parseAddress } from '../../model/address.ts';
import type { Pod, PodKey } from '../../model/cluster.ts';
import { DnsCache, type DnsRecord, type DnsSnapshot } from '../../names/dnscache.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import type { Agents } from './agents.ts';
import { type AgentsOptions, clusterAgents } from './clusteragents.ts';
import { awayTexts, type NodeAnswer, OWN_SOCKET, runOnNodes } from './onnodes.ts';

export interface NamesOfPods {
  /** Only nodes that answered are among its nodes. */
  readonly known: DnsSnapshot;
  /** Why some are not. */
  readonly notes: readonly string[];
}

export async function namesOfPods(pods: readonly Pod[], options: AgentsOptions): Promise<NamesOfPods> {
  return namesFrom(pods, () => clusterAgents(options), Date.now);
}

/** `now` is our clock in milliseconds since 1970; those of nodes may differ. */
export async function namesFrom(
  pods: readonly Pod[],
  agents: () => Promise<Agents>,
  now: () => number,
): Promise<NamesOfPods> {
  const cache = new DnsCache();
  const nodes: string[] = [];
  const notes: string[] = [];
  try {
    const only = [...new Set(pods.map(({ node }) => node).filter(node => node !== ''))];
    const words = ['sluice', 'inspect', 'names', OWN_SOCKET, ...pods.map(({ key }) => key)];
    const answers = await runOnNodes(await agents(), words, { only, note: text => notes.push(text) });
    for (const answer of answers) {
      const own = pods.filter(({ node }) => node === answer.node);
      const records = recordsIn(answer, new Set(own.map(({ key }) => key)), now());
      if (records === undefined) continue;
      cache.record(records);
      nodes.push(answer.node);
    }
    notes.push(...awayTexts(answers));
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    notes.push(`what DNS has answered to pods is known to the agents alone: ${error.message}`);
  }
  return { known: { cache, nowMs: now(), nodes }, notes };
}

/** More than an agent keeps of the pods of a question. */
const MOST_RECORDS = 65_536;
const LONGEST_NAME = 255;

/** Undefined where the node gave no answer that can be read. No node speaks for the pods of another. */
function recordsIn(
  { lines, exitCode }: NodeAnswer,
  pods: ReadonlySet<PodKey>,
  ownMs: number,
): readonly DnsRecord[] | undefined {
  const { nowMs, names } = asMap(jsonOf(lines.find(line => line !== '') ?? ''));
  if (exitCode !== 0 || typeof nowMs !== 'number' || !Array.isArray(names)) return undefined;
  return asMaps(names)
    .slice(0, MOST_RECORDS)
    .flatMap(record => recordOf(record, ownMs - nowMs))
    .filter(({ pod }) => pods.has(pod));
}

function recordOf(record: Readonly<Record<string, unknown>>, laterMs: number): DnsRecord[] {
  const { pod, name, toldMs, untilMs } = record;
  const [address, from] = [record.address, record.from].map(text =>
    typeof text === 'string' ? parseAddress(text) : undefined,
  );
  const oneOf = Array.isArray(record.oneOf)
    ? record.oneOf.filter(each => typeof each === 'string')
    : undefined;
  if (typeof pod !== 'string' || typeof name !== 'string' || name.length > LONGEST_NAME) return [];
  if (typeof toldMs !== 'number' || typeof untilMs !== 'number' || address === undefined) return [];
  const times = { toldMs: toldMs + laterMs, untilMs: untilMs > 0 ? untilMs + laterMs : untilMs };
  return [{ pod: pod as PodKey, address, name, ...times, ...(from && { from }), ...(oneOf && { oneOf }) }];
}
