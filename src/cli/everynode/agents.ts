/** The agents of a cluster, as a prompt asks them: which there are, and a command in the pod of one. */
import type { Socket } from 'node:net';
import { CommandError } from '../../terminal/commanderror.ts';
import { writeUnwrapped } from '../../terminal/output.ts';

/** More commands at once would be a burden to the API server. */
export const MOST_AT_ONCE = 32;

export interface AgentPod {
  readonly name: string;
  readonly node: string;
  readonly container: string;
  /** `Running`, or why it is not. */
  readonly phase: string;
  /** Equal for pods that run the same program. */
  readonly image?: string;
}

export interface AgentOutput {
  /** Called when the command has been started, before it writes anything. */
  open?(): void;
  /** A line of its standard output, without its end. */
  line(text: string): void;
  /** A line of its standard error. */
  note(text: string): void;
  /** Called when the command has run to its end. */
  exit?(code: number): void;
}

export interface Until {
  /** Ends the command at once. */
  readonly end: AbortSignal;
  /** Asks the command to end; it may still write its remaining output. */
  readonly finish?: AbortSignal;
}

export interface Agents {
  /** Throws MissingRight, and Error if the API server does not answer. */
  list(): Promise<readonly AgentPod[]>;
  /** The names of the cluster's Nodes, whether they have an agent or not. Throws as `list` does. */
  nodes(): Promise<readonly string[]>;
  /**
   * Runs until the command, the connection or the signal ends. Answers why it ended, and nothing where it ended well.
   * Throws MissingRight, and Error where it could not be run.
   */
  run(pod: AgentPod, words: readonly string[], sink: AgentOutput, until: Until): Promise<string | undefined>;
  /** One sentence where some of them are of another version than this command line. Never throws. */
  versionNote?(pods: readonly AgentPod[]): Promise<string | undefined>;
}

/** The right that the caller lacks, as a sentence. */
export class MissingRight extends Error {
  override readonly name = 'MissingRight';
}

/** Throws CommandError where they cannot be listed, or there is none. */
export async function listedAgents(agents: Agents): Promise<readonly AgentPod[]> {
  const pods = await agents.list().catch((error: Error) => {
    throw new CommandError(
      error instanceof MissingRight ? error.message : `the agents cannot be listed: ${error.message}`,
    );
  });
  if (pods.length === 0)
    throw new CommandError('no agent runs in that namespace of the cluster: --agents names another');
  return pods;
}

/** The agent of each node; while one is replaced there may be two of a node. */
export function podsByNode(pods: readonly AgentPod[]): Map<string, AgentPod> {
  const byNode = new Map<string, AgentPod>();
  for (const pod of pods) if (pod.phase === 'Running' || !byNode.has(pod.node)) byNode.set(pod.node, pod);
  return byNode;
}

/** Where the Nodes cannot be listed. */
export function nodesUnknownText({ message }: Error): string {
  return `it is not known whether every node has an agent: ${message}`;
}

// A command in the pod of an agent, run by a prompt elsewhere: it ends with the prompt, and writes heartbeats.

/** An empty line: it is not an object, so readers skip it. */
const HEARTBEAT = '\n';
export const HEARTBEAT_MS = 2_000;
/** Sent to a command to ask it to write its remaining output, and to end. */
export const STOP = '\n';

/**
 * Ends the process when its standard input ends: without output nothing else shows that the prompt is gone.
 * `onFinish` is called when the prompt asks it to end.
 */
export function serveRemote(onFinish: () => void = () => undefined): void {
  const end = () => process.exit(0);
  process.stdin.on('data', onFinish).on('end', end).on('close', end).on('error', end).resume();
  // Standard input must not keep this process alive: it ends when the command's work is done.
  (process.stdin as Partial<Pick<Socket, 'unref'>>).unref?.();
  setInterval(heartbeat, HEARTBEAT_MS).unref();
}

/**
 * Writes a heartbeat. The first one means that everything recorded before has been written, for which the prompt waits.
 */
export function heartbeat(): void {
  writeUnwrapped(HEARTBEAT);
}
