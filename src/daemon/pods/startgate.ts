/** The start gate of an agent, as far as the agent itself is concerned: when it is connected, and what its status says. */

import { connect } from 'node:net';
import type { Logger } from 'pino';
import type { Agent } from '../../agent/agent.ts';
import type { CommitBarrier } from '../../agent/commitbarrier.ts';
import type { PodStarts } from '../../api/health/startchecks.ts';
import type { EventSpec } from '../../inputs/kube/report/event.ts';
import { aborted } from '../../lib/async/aborted.ts';
import type { LocalPods } from '../../network/sandboxes/localpods.ts';
import type { ConntrackFlusher, GateState, LateStart, StartGate } from '../../network/sandboxes/startgate.ts';
import type { StartGateConfig } from './startgateconfig.ts';

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
