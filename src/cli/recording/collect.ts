/**
 * Records the connections that the agent of this node knows, and those that it sees while the command waits, in parts.
 */

import type { AgentClient, FlowsMessage } from '../../api/rpc/client.ts';
import { sleep } from '../../lib/async/sleep.ts';
import { MultiMap } from '../../lib/collections/multimap.ts';
import { addressOwners } from '../../model/addressowners.ts';
import type { Cluster } from '../../model/cluster.ts';
import { type DnsRecord, namesIn } from '../../names/dnscache.ts';
import { PodVersions } from '../../observe/recording/podversions.ts';
import { Recorder } from '../../observe/recording/recorder.ts';
import type { RecordedFlow, Recording } from '../../observe/recording/recording.ts';
import { ofDenial, ofOpen, ofSeen, type PodOf } from '../../observe/recording/seen.ts';
import { surroundingsOf } from '../../observe/recording/surroundings.ts';
import { recordedOf } from '../diff/cuts.ts';
import { clusterOf, unknownPodsOf } from '../sources/agent.ts';
import { askAgent } from '../sources/askagent.ts';

export interface CollectOptions {
  /** When to end; absent: records only the connections that are known now. */
  readonly end?: AbortSignal;
  /** Called with each part: from time to time, and at the end. */
  readonly take: (part: Recording) => void;
}

const PART_MS = 60_000;

/** Throws CommandError where no agent answers, or its kernel reports no connections. */
export function collectFromAgent(socket: string, { end, take }: CollectOptions): Promise<void> {
  return askAgent(socket, async agent => {
    const collector = new RecordingCollector(agent);
    const tell = async () => take(await collector.part());
    await collector.begin(end === undefined);
    if (end !== undefined) await follow(agent, collector, end, tell);
    await tell();
  });
}

async function follow(
  agent: AgentClient,
  collector: RecordingCollector,
  end: AbortSignal,
  tell: () => Promise<void>,
): Promise<void> {
  const over = new AbortController();
  const until = AbortSignal.any([end, over.signal]);
  const telling = tellEvery(PART_MS, tell, until);
  telling.catch(() => over.abort());
  try {
    for await (const message of agent.flows(until)) {
      if (message.facts?.error !== undefined) throw new Error(message.facts.error);
      collector.take(message);
    }
  } finally {
    over.abort();
  }
  await telling;
}

async function tellEvery(everyMs: number, tell: () => Promise<void>, until: AbortSignal): Promise<void> {
  await sleep(everyMs, until);
  while (!until.aborted) {
    await tell();
    await sleep(everyMs, until);
  }
}

// A growing recording of the connections that an agent reports, with their ends as they were at that time.

export class RecordingCollector {
  readonly #agent: AgentClient;
  readonly #pods = new PodVersions();
  readonly #podOf: PodOf = end => this.#pods.of(end, this.#cluster.pods);
  #recorder = new Recorder();
  #fromMs = Date.now();
  #cluster!: Cluster;
  #node = '';
  #unknownPods: Recording['unknownPods'] = 'allow';
  #lost = 0;

  constructor(agent: AgentClient) {
    this.#agent = agent;
  }

  /** Starts with the connections that are open now, and on request with the denials that the agent remembers. */
  async begin(withDenials: boolean): Promise<void> {
    const { node, denies_unknown_pods } = await this.#agent.status();
    this.#node = node;
    this.#unknownPods = unknownPodsOf(denies_unknown_pods);
    this.#cluster = await clusterOf(this.#agent);
    await this.#noteOpen();
    if (!withDenials) return;
    for await (const { denial } of this.#agent.drops(false))
      if (denial !== undefined) this.#note(ofDenial(denial, this.#podOf));
  }

  take({ flows, denials, lost, skipped }: FlowsMessage): void {
    this.#lost += lost + skipped;
    for (const flow of flows) this.#note(ofSeen(flow, this.#podOf));
    for (const denial of denials) this.#note(ofDenial(denial, this.#podOf));
  }

  /** The connections since the part before. */
  async part(): Promise<Recording> {
    this.#cluster = await clusterOf(this.#agent);
    const [recorder, lost, fromMs, toMs] = [this.#recorder, this.#lost, this.#fromMs, Date.now()];
    [this.#recorder, this.#lost, this.#fromMs] = [new Recorder(), 0, toMs];
    const flows = recorder.flows();
    return {
      fromMs: flows.reduce((earliest, { firstMs }) => Math.min(earliest, firstMs), fromMs),
      toMs,
      recordedOn: [this.#node],
      unknownPods: this.#unknownPods,
      lost,
      leftOut: recorder.leftOut,
      flows,
      ...surroundingsOf(this.#cluster, flows),
    };
  }

  /** With the names that hold now: those by which they were opened are not known any more. */
  async #noteOpen(): Promise<void> {
    const resolved = new MultiMap<string, DnsRecord>();
    for (const record of await this.#agent.names()) resolved.add(`${record.pod} ${record.address}`, record);
    const owners = addressOwners(this.#cluster, this.#node);
    for (const open of (await this.#agent.connections()).flatMap(recordedOf)) {
      const flow = ofOpen(open, owners, this.#node, this.#fromMs);
      const names = namesIn([...resolved.get(`${flow?.from.pod?.key} ${flow?.to.address}`)]);
      this.#note(flow && names.length > 0 ? { ...flow, names } : flow);
    }
  }

  #note(flow: RecordedFlow | undefined): void {
    if (flow !== undefined) this.#recorder.record(flow);
  }
}
