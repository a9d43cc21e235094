/**
 * Sends packets continuously between pods of a laboratory, from its own process, so that the work of a test cannot
 * delay them. They get no answers: so connection tracking sees every packet as new, and the rules of its moment judge
 * it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Lab } from '../../../bench/lab/lab.ts';
import type { Address } from '../../../src/model/address.ts';

/** UDP. */
export interface ProbedFlow {
  readonly from: Address;
  readonly to: Address;
  readonly port: number;
}

/** The fate of packets 0 … sent-1 of one flow. */
export interface Trail {
  readonly sent: number;
  /** First and last of each run of packets that arrived. */
  readonly arrived: readonly (readonly [number, number])[];
}

/** Orders to the process: start, report when so many more packets of each flow were sent, and end. */
export type ProberOrder =
  | { readonly flows: readonly LocatedFlow[] }
  | { readonly more: number }
  | { readonly stop: true };

export interface LocatedFlow extends ProbedFlow {
  readonly fromNamespace: string;
  readonly toNamespace: string;
}

const PROCESS = fileURLToPath(new URL('./proberprocess.ts', import.meta.url));

export class Prober {
  readonly #child: ChildProcess;
  readonly #ended: Promise<never>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = ended(child);
    this.#ended.catch(() => undefined);
  }

  /** Packet k of each flow is sent in the order of `flows`, then packet k+1 of each. */
  static async start(lab: Lab, flows: readonly ProbedFlow[]): Promise<Prober> {
    // On one CPU, so that packets are judged in the order in which they are sent.
    const child = spawn('taskset', ['-c', '0', process.execPath, PROCESS], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const prober = new Prober(child);
    await prober.#answer({ flows: flows.map(flow => withNamespaces(lab, flow)) });
    return prober;
  }

  /** Waits until so many more packets of each flow have been sent. */
  async more(packets: number): Promise<void> {
    await this.#answer({ more: packets });
  }

  async stop(): Promise<Trail[]> {
    const trails = await this.#answer({ stop: true });
    this.kill();
    return trails as Trail[];
  }

  /** Ends it without a result; harmless to repeat. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  async #answer(order: ProberOrder): Promise<unknown> {
    this.#child.send(order);
    const [answer] = await Promise.race([once(this.#child, 'message'), this.#ended]);
    return answer;
  }
}

function withNamespaces(lab: Lab, flow: ProbedFlow) {
  return { ...flow, fromNamespace: lab.namespaceOf(flow.from), toNamespace: lab.namespaceOf(flow.to) };
}

async function ended(child: ChildProcess): Promise<never> {
  const [code, signal] = await once(child, 'exit');
  throw new Error(`the prober has ended with ${signal ?? `exit code ${code}`}`);
}

/** How many packets arrived. */
export function arrivals({ arrived }: Trail): number {
  return arrived.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}
