/** The agents of a cluster, as a prompt asks them: which there are, and a command in the pod of one. */
export interface AgentPod {
  readonly name: string;
  readonly node: string;
  readonly container: string;
  /** `Running`, or why it is not. */
  readonly phase: string;
}

export interface AgentOutput {
  /** A line of its standard output, without its end. */
  line(text: string): void;
  /** A line of its standard error. */
  note(text: string): void;
}

export interface Until {
  /** At once. */
  readonly end: AbortSignal;
  /** The command is told to end, and may tell what it has left. */
  readonly finish?: AbortSignal;
}

export interface Agents {
  /** Throws MissingRight, and Error where nobody answers. */
  list(): Promise<readonly AgentPod[]>;
  /**
   * Runs until the command, the connection or the signal ends. Answers why it ended, and nothing where it ended well.
   * Throws MissingRight, and Error where it could not be run.
   */
  run(pod: AgentPod, words: readonly string[], heard: AgentOutput, until: Until): Promise<string | undefined>;
}

/** What the caller may not do, in a sentence. */
export class MissingRight extends Error {
  override readonly name = 'MissingRight';
}
