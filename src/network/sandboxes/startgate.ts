/**
 * The start gate: no container of a pod runs before the pod's rules are in force. The runtime reports a sandbox and
 * waits for our answer; we hand it to the agent, and answer when its batch is committed.
 *
 *     connect ─▶ taken in ─▶ all that lives ─▶ starts, stops … ─▶ connection lost ─▶ wait, connect again
 *
 * Whom we keep waiting for too long the runtime disconnects, so a pod that waited for long starts all the same: its
 * addresses are not in the rules then, and where unknown pods are denied it is closed until they are.
 */
import type { Duplex } from 'node:stream';
import { backoffMs } from '../../lib/async/backoff.ts';
import { sleep } from '../../lib/async/sleep.ts';
import type { Address } from '../../model/address.ts';
import type { ClusterEvent, PodKey } from '../../model/cluster.ts';
import type { PodSandbox } from '../nri/messages.ts';
import { type PluginHandlers, type Runtime, runPlugin } from '../nri/plugin.ts';
import type { LocalPods } from './localpods.ts';
import { type Sandbox, sandboxOf } from './sandbox.ts';

/** A pod that started before its rules were in force. */
export interface LateStart {
  readonly key: PodKey;
  readonly uid: string;
  readonly waitedMs: number;
  readonly message: string;
}

interface GateLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface StartGateOptions {
  readonly connect: () => Duplex;
  readonly pods: LocalPods;
  /** Applies changed events; a pod waits for urgent ones. */
  readonly apply: (events: readonly ClusterEvent[], urgent: boolean) => void;
  /** Resolves when the kernel has all events that were applied before. */
  readonly programmed: () => Promise<void>;
  readonly staleConntrack: ConntrackFlusher;
  /** How long a pod waits at most. */
  readonly timeoutMs: number;
  /** Whether a pod without rules is closed. */
  readonly unknownPods: 'deny' | 'allow';
  readonly log: GateLog;
  readonly onLate?: (late: LateStart) => void;
}

export type GateState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'connected'; readonly runtime: Runtime }
  | { readonly kind: 'lost'; readonly reason: string };

export interface GateCounts {
  /** Pods that started with their rules in force. */
  inTime: number;
  /** Pods that started before. */
  late: number;
  /** Pods whose addresses the runtime did not report. */
  withoutAddress: number;
}

const RETRY = { firstMs: 100, mostMs: 5_000 };
/** Answers must reach the runtime before it stops waiting for them. */
const MARGIN_MS = 250;
const MOST_UNREAD_WAITS = 10_000;

export class StartGate {
  readonly counts: GateCounts = { inTime: 0, late: 0, withoutAddress: 0 };
  readonly #options: StartGateOptions;
  #state: GateState = { kind: 'connecting' };
  #timeoutMs: number;
  /** The runtime that has registered us; it may not have sent its list of living sandboxes yet. */
  #runtime: Runtime | undefined;
  #waits: number[] = [];
  #failures = 0;

  constructor(options: StartGateOptions) {
    this.#options = options;
    this.#timeoutMs = options.timeoutMs;
  }

  get state(): GateState {
    return this.#state;
  }

  /** How many milliseconds each pod waited that has started since the last call. */
  takeWaits(): readonly number[] {
    const waits = this.#waits;
    this.#waits = [];
    return waits;
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const reason = await runPlugin(this.#options.connect(), this.#handlers, signal);
      if (signal.aborted) return;
      this.#lost(reason);
      await sleep(backoffMs(RETRY, ++this.#failures), signal);
    }
  }

  readonly #handlers: PluginHandlers = {
    configured: runtime => this.#configured(runtime),
    synchronised: async sandboxes => {
      this.#connected();
      const known = sandboxes.map(sandboxOf).filter(sandbox => sandbox !== undefined);
      this.#options.apply(this.#options.pods.synchronised(known), true);
      this.#options.staleConntrack.sweep();
      // Most of these sandboxes run already. But if the runtime requires us (docs/start-gate.md), some wait.
      if (!(await this.#withinLimit(this.#options.programmed()))) {
        const message = `start gate: the rules of the pods that ran before are not in force after ${this.#timeoutMs} ms`;
        this.#options.log.warn({}, message);
      }
    },
    started: pod => this.#started(pod),
    stopped: ({ id }) => {
      const { pods, apply: note, staleConntrack } = this.#options;
      const addresses = pods.addressesOf(id);
      note(pods.stopped(id), false);
      staleConntrack.released(addresses);
    },
  };

  #configured(runtime: Runtime): void {
    const { requestTimeoutMs } = runtime;
    const most =
      requestTimeoutMs > 0 ? Math.max(requestTimeoutMs - MARGIN_MS, requestTimeoutMs / 2) : Infinity;
    this.#timeoutMs = Math.min(this.#options.timeoutMs, most);
    this.#runtime = runtime;
  }

  /** From this moment on the runtime waits for us. */
  #connected(): void {
    if (this.#runtime === undefined) return;
    const { name, version } = this.#runtime;
    this.#failures = 0;
    this.#state = { kind: 'connected', runtime: this.#runtime };
    const fields = { runtime: `${name} ${version}`, timeoutMs: this.#timeoutMs };
    this.#options.log.info(fields, 'start gate: the runtime waits for the rules of each pod that starts');
  }

  /** Logged once, and not with every attempt. */
  #lost(reason: string): void {
    if (this.#state.kind !== 'lost') {
      this.#options.log.warn(
        {},
        `start gate: not connected to the runtime, so pods start without waiting for their rules: ${reason}`,
      );
    }
    this.#state = { kind: 'lost', reason };
    this.#runtime = undefined;
    this.#options.apply(this.#options.pods.lost(), false);
  }

  async #started(pod: PodSandbox): Promise<void> {
    const sandbox = sandboxOf(pod);
    if (sandbox === undefined) {
      const fields = { id: pod.id, namespace: pod.namespace, name: pod.name };
      this.#options.log.warn(
        fields,
        'start gate: a sandbox without a name; it is known when the API server reports it',
      );
      return;
    }
    this.#options.apply(this.#options.pods.started(sandbox), true);
    if (sandbox.addresses.length > 0) await this.#wait(sandbox);
    else if (sandbox.ownNetwork) this.#reportNoAddress(sandbox);
  }

  async #wait(sandbox: Sandbox): Promise<void> {
    const startMs = performance.now();
    const { programmed, staleConntrack } = this.#options;
    const inTime = await this.#withinLimit(
      programmed().then(() => staleConntrack.flushed(sandbox.addresses)),
    );
    const waitedMs = performance.now() - startMs;
    this.#waits = [...this.#waits, waitedMs].slice(-MOST_UNREAD_WAITS);
    if (inTime) this.counts.inTime++;
    else this.#reportLate(sandbox, Math.round(waitedMs));
  }

  async #withinLimit(work: Promise<void>): Promise<boolean> {
    const timeout = new AbortController();
    const late = sleep(this.#timeoutMs, timeout.signal).then(() => false);
    const inTime = await Promise.race([work.then(() => true), late]);
    timeout.abort();
    return inTime;
  }

  #reportLate({ key, uid, addresses }: Sandbox, waitedMs: number): void {
    this.counts.late++;
    const until = `${addresses.join(' and ')} ${this.#options.unknownPods === 'deny' ? 'is of no known pod and denied' : 'is open'}`;
    const message = `Pod ${key}: its rules are not in force after ${waitedMs} ms; it starts, and until they are ${until}`;
    this.#options.log.warn({ pod: key, waitedMs }, message);
    this.#options.onLate?.({ key, uid, waitedMs, message });
  }

  #reportNoAddress({ key }: Sandbox): void {
    if (this.counts.withoutAddress++ > 0) return;
    this.#options.log.warn(
      { pod: key },
      'start gate: the runtime reports no addresses of pods; their rules are in force when the API server reports them',
    );
  }
}

/** Connections of an address's earlier owner: conntrack would accept them before any rule is asked. */
export interface ConntrackFlusher {
  /** Forgets the connections of addresses that no pod has any more. Never waits. */
  released(addresses: readonly Address[]): void;
  /** Scans all addresses that no pod has, because the end of a pod may have gone unreported. Never waits. */
  sweep(): void;
  /** Resolves when no open connection of the previous owners of these addresses is left. Never rejects. */
  flushed(addresses: readonly Address[]): Promise<void>;
}
