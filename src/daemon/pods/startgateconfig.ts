/** The settings of the start gate and of unknown pods: the given options, or defaults that fit the node. */

import { existsSync } from 'node:fs';
import type { UnknownPods } from '../../model/podcidrs.ts';

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

/** `isOffered` says whether the runtime offers NRI on a socket. */
export function startGateConfig(
  options: StartGateCommandOptions,
  isOffered: (nriSocket: string) => boolean = existsSync,
): StartGateConfig {
  const { nriSocket = DEFAULT_SOCKET, startGateTimeout: timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const gate = gateOf(options, nriSocket, isOffered);
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
function gateOf(
  options: StartGateCommandOptions,
  nriSocket: string,
  isOffered: (nriSocket: string) => boolean,
): StartGateConfig['gate'] {
  const { startGate = 'auto', manifests, podNetwork = 'none' } = options;
  if (startGate === 'nri') return { on: true };
  if (startGate === 'off') return { on: false, why: '--start-gate=off', missed: false };
  if (manifests !== undefined) return { on: false, why: 'pods come from manifests', missed: false };
  if (isOffered(nriSocket)) return { on: true };
  const why = `the runtime offers no NRI: there was no ${nriSocket} when the agent started`;
  return { on: false, why, missed: podNetwork === 'none' };
}
