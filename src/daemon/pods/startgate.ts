/** The settings of the start gate and of unknown pods: the given options, or defaults that fit the node. */

import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import type { Logger } from 'pino';
import type { Agent } from '../../agent/agent.ts';
import type { CommitBarrier } from '../../agent/commitbarrier.ts';
import type { PodStarts } from '../../api/health/startchecks.ts';
import type { EventSpec } from '../../inputs/kube/report/event.ts';
import { aborted } from '../../lib/async/aborted.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { LocalPods } from '../../network/sandboxes/localpods.ts';
import type { ConntrackFlusher, GateState, LateStart, StartGate } from '../../network/sandboxes/startgate.ts';

export interface StartGateCommandOptions {
  readonly node: string;
  readonly manifests?: string;
  readonly podNetwork?: 'attach' | 'chained' | 'none';
  readonly startGate?: 'auto' | 'nri' | 'off';
  readonly nriSocket?: string;
  readonly startGateTimeout?: number;
  readonly unknownPods?: UnknownPods;
}

/** The start gate that the options ask for. */
export interface StartGateConfig {
  readonly unknownPods: UnknownPods;
  readonly why: string;
  readonly nriSocket: string;
  readonly timeoutMs: number;
  readonly gate: { readonly on: true } | GateOff;
}

/** `missed`: it was not turned off, and nothing else makes rules before a pod starts. */
interface GateOff {
  readonly on: false;
  readonly why: string;
  readonly missed: boolean;
}

const DEFAULT_SOCKET = '/var/run/nri/nri.sock';
const DEFAULT_TIMEOUT_MS = 1500;

export function startGateConfig(options: StartGateCommandOptions): StartGateConfig {
  const { nriSocket = DEFAULT_SOCKET, startGateTimeout: timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const gate = gateOf(options, nriSocket);
  const [unknownPods, why]: [UnknownPods, string] =
    options.unknownPods === undefined
      ? defaultOf(gate.on, options.podNetwork)
      : [options.unknownPods, `--unknown-pods=${options.unknownPods}`];
  return { unknownPods, why, nriSocket, timeoutMs, gate };
}

/** Where the agent knows of a pod before it starts, nothing that it does not know is one. */
function defaultOf(gated: boolean, podNetwork: StartGateCommandOptions['podNetwork']): [UnknownPods, string] {
  if (gated) return ['deny', 'the start gate is on'];
  if (podNetwork === 'attach') return ['deny', 'the agent itself attaches pods'];
  if (podNetwork === 'chained') return ['deny', 'the CNI plugin announces every pod before it starts'];
  return ['allow', 'the start gate is off'];
}

/** A folder of manifests has nothing to do with the pods that a runtime on this machine may run. */
function gateOf(options: StartGateCommandOptions, nriSocket: string): StartGateConfig['gate'] {
  const { startGate = 'auto', manifests, podNetwork = 'none' } = options;
  if (startGate === 'nri') return { on: true };
  if (startGate === 'off') return { on: false, why: '--start-gate=off', missed: false };
  if (manifests !== undefined) return { on: false, why: 'pods come from manifests', missed: false };
  if (existsSync(nriSocket)) return { on: true };
  const why = `the runtime offers no NRI: there was no ${nriSocket} when the agent started`;
  return { on: false, why, missed: podNetwork === 'none' };
}

/** The Event that reports such a pod to the cluster. */
export function lateStartSpec({ key, uid, message }: LateStart): EventSpec {
  const [namespace = '', name = ''] = key.split('/');
  const about = { apiVersion: 'v1', kind: 'Pod', namespace, name, uid };
  return { about, type: 'Warning', reason: 'RulesLate', note: message };
}

/** The parts that the gate calls. */
export interface GateNeeds {
  readonly localPods: LocalPods;
  readonly agent: Pick<Agent, 'apply'>;
  readonly barrier: Pick<CommitBarrier, 'programmed'>;
  readonly staleConntrack: ConntrackFlusher;
  readonly onLate: (late: LateStart) => void;
  readonly log: Logger;
}

export class PodGate {
  readonly starts: StartGateConfig;
  readonly #needs: GateNeeds;
  #gate: StartGate | undefined;

  constructor(starts: StartGateConfig, needs: GateNeeds) {
    this.starts = starts;
    this.#needs = needs;
    const fields = { startGate: starts.gate.on ? 'nri' : 'off', unknownPods: starts.unknownPods };
    if (starts.gate.on) return;
    const level = starts.gate.missed ? 'warn' : 'info';
    needs.log[level](fields, `start gate off: ${starts.gate.why}; unknown pods: ${starts.unknownPods}`);
  }

  /**
   * Until the signal; at once where the gate is off. The runtime is not connected before a commit of this process is
   * in force: a runtime that requires us creates no container until then, and one that does not is not promised
   * anything that we cannot keep.
   */
  async run(signal: AbortSignal): Promise<void> {
    if (!this.starts.gate.on) return;
    await Promise.race([this.#needs.barrier.programmed(), aborted(signal)]);
    if (!signal.aborted) await this.#connect(signal);
  }

  async #connect(signal: AbortSignal): Promise<void> {
    const { nriSocket, timeoutMs, unknownPods } = this.starts;
    const { localPods, agent, barrier, staleConntrack, onLate, log } = this.#needs;
    const { StartGate } = await import('../../network/sandboxes/startgate.ts');
    this.#gate = new StartGate({
      connect: () => connect(nriSocket),
      pods: localPods,
      apply: (events, urgent) => agent.apply(events, { urgent }),
      programmed: () => barrier.programmed(),
      staleConntrack,
      timeoutMs,
      unknownPods,
      log,
      onLate,
    });
    await this.#gate.run(signal);
  }

  status(): PodStarts {
    const { gate, unknownPods, why } = this.starts;
    if (!gate.on) return { gate: { kind: gate.missed ? 'missed' : 'off', why: gate.why }, unknownPods, why };
    const state = this.#gate?.state;
    if (state?.kind === 'connected') {
      const { name, version } = state.runtime;
      const { inTime, late } = this.#gate!.counts;
      return { gate: { kind: 'connected', runtime: `${name} ${version}`, inTime, late }, unknownPods, why };
    }
    const whyLost = state === undefined ? 'no rules of this agent are in force yet' : whyNot(state);
    return { gate: { kind: 'lost', why: whyLost }, unknownPods, why };
  }

  get counts(): { readonly inTime: number; readonly late: number; readonly withoutAddress: number } {
    return this.#gate?.counts ?? { inTime: 0, late: 0, withoutAddress: 0 };
  }

  takeWaits(): readonly number[] {
    return this.#gate?.takeWaits() ?? [];
  }
}

function whyNot(state: GateState): string {
  return state.kind === 'lost' ? state.reason : 'still connecting';
}
