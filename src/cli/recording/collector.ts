/** The connections that an agent tells of, as a recording grows: with its cluster, of which it is asked again as pods come. */
import { addressOwners } from '../../model/addressowners.ts';
import type { Cluster, PodKey } from '../../model/cluster.ts';
import { namesBeside } from '../../recording/named.ts';
import { Recorder } from '../../recording/recorder.ts';
import type { RecordedFlow, Recording } from '../../recording/recording.ts';
import { ofDenial, ofOpen, ofSeen } from '../../recording/seen.ts';
import { surroundingsOf } from '../../recording/surroundings.ts';
import type { AgentClient, FlowsMessage } from '../../rpc/client.ts';
import { clusterOf, unknownPodsOf } from '../../sources/agent.ts';
import { recordedOf } from '../diff/recording.ts';

/** A cluster of 15,000 pods is 10 MB on the wire. */
const REREAD_MS = 15_000;

export class RecordingCollector {
  readonly #agent: AgentClient;
  readonly #recorder = new Recorder();
  /** By pod and address, under which names it was told. */
  readonly #names = new Map<string, Set<string>>();
  readonly #fromMs = Date.now();
  #cluster!: Cluster;
  #node = '';
  #unknownPods: Recording['unknownPods'] = 'allow';
  #readMs = 0;
  #lost = 0;
  #isStale = false;

  constructor(agent: AgentClient) {
    this.#agent = agent;
  }

  /** Those that are open now, and where asked for the denials that the agent remembers. */
  async begin(withDenials: boolean): Promise<void> {
    const { node, denies_unknown_pods } = await this.#agent.status();
    this.#node = node;
    this.#unknownPods = unknownPodsOf(denies_unknown_pods);
    await this.#readCluster();
    const owners = addressOwners(this.#cluster, node);
    for (const open of (await this.#agent.connections()).flatMap(recordedOf))
      this.#note(ofOpen(open, owners, node, this.#fromMs));
    if (!withDenials) return;
    for await (const { denial } of this.#agent.drops(false))
      if (denial !== undefined) this.#note(ofDenial(denial, this.#cluster.pods));
  }

  async take({ flows, denials, lost, skipped }: FlowsMessage): Promise<void> {
    this.#lost += lost + skipped;
    const pods = [...flows, ...denials].flatMap(({ from, to }) => [from.pod, to.pod]);
    if (pods.some(key => key !== undefined && !this.#cluster.pods.has(key))) this.#isStale = true;
    if (this.#isStale && Date.now() - this.#readMs > REREAD_MS) await this.#readCluster();
    for (const flow of flows) this.#note(ofSeen(flow, this.#cluster.pods));
    for (const denial of denials) this.#note(ofDenial(denial, this.#cluster.pods));
  }

  /** As far as it has come. */
  async recording(): Promise<Recording> {
    await this.#readCluster();
    const flows = namesBeside(this.#recorder.flows(), this.#names);
    return {
      fromMs: Math.min(this.#fromMs, ...flows.map(({ firstMs }) => firstMs)),
      toMs: Date.now(),
      recordedOn: [this.#node],
      unknownPods: this.#unknownPods,
      lost: this.#lost,
      leftOut: this.#recorder.leftOut,
      flows,
      ...surroundingsOf(this.#cluster, flows),
    };
  }

  #note(flow: RecordedFlow | undefined): void {
    if (flow !== undefined) this.#recorder.note(flow);
  }

  async #readCluster(): Promise<void> {
    this.#cluster = await clusterOf(this.#agent);
    this.#readMs = Date.now();
    this.#isStale = false;
    for (const { pod, address, name, oneOf } of await this.#agent.names())
      for (const each of oneOf ?? [name]) this.#told(pod, address, each);
  }

  #told(pod: PodKey, address: string, name: string): void {
    const key = `${pod} ${address}`;
    const names = this.#names.get(key) ?? new Set();
    if (names.size === 0 && this.#names.size >= MOST_TOLD) return;
    this.#names.set(key, names.add(name));
  }
}

const MOST_TOLD = 200_000;
