/** The source of new connections, which is read as long as it has followers. */
import type { SeenFlow } from './seenflow.ts';

/** What was read at once. */
export interface FlowBatch {
  /** The oldest first. */
  readonly flows: readonly SeenFlow[];
  /** New connections of this node since the batch before of which nobody knows more. */
  readonly lost: number;
}

export interface FlowSource {
  /**
   * Tells of every batch from now on; the answer ends it. The first who asks has the kernel tell of new connections, and
   * the last who ends has it stop. Never throws: `facts` say why nothing comes.
   */
  follow(follower: (batch: FlowBatch) => void): () => void;
  facts(): FlowsFacts;
}

/** Counts of connections since the agent started, of the times in which somebody asked. */
export interface FlowsFacts {
  /** Whether somebody asks now, and the kernel tells. */
  readonly isOpen: boolean;
  /** Why the kernel does not tell though somebody asks. */
  readonly error?: string;
  readonly seen: number;
  /** Neither end is a pod of this node: the node's own, and what passes through. */
  readonly others: number;
  /** Came faster than they were read, or could not be read. */
  readonly lost: number;
}

export const NO_FLOWS: FlowSource = {
  follow: () => () => undefined,
  facts: () => ({ isOpen: false, seen: 0, others: 0, lost: 0 }),
};
