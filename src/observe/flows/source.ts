/** The source of new connections, which is read as long as it has followers. */
import type { SeenFlow } from './seenflow.ts';

/** The connections of one reading. */
export interface FlowBatch {
  /** The oldest first. */
  readonly flows: readonly SeenFlow[];
  /** How many new connections of this node were lost since the batch before; nothing more is known of them. */
  readonly lost: number;
}

export interface FlowSource {
  /**
   * Calls the follower with every batch from now on; call the returned function to end that. The first follower makes
   * the kernel report new connections, and after the last one has ended it stops. Never throws: `facts` say why nothing
   * comes.
   */
  follow(follower: (batch: FlowBatch) => void): () => void;
  facts(): FlowsFacts;
}

/** Counts of connections since the agent started, in the times in which there was a follower. */
export interface FlowsFacts {
  /** Whether there is a follower and the kernel reports connections. */
  readonly isOpen: boolean;
  /** Why the kernel reports no connections although there is a follower. */
  readonly error?: string;
  readonly seen: number;
  /** Connections without a pod of this node at either end: the node's own, and those that pass through. */
  readonly others: number;
  /** Came faster than they were read, or could not be read. */
  readonly lost: number;
}

export const NO_FLOWS: FlowSource = {
  follow: () => () => undefined,
  facts: () => ({ isOpen: false, seen: 0, others: 0, lost: 0 }),
};
