import type { Address } from '../../model/address.ts';

/** Where a question gets its cluster from, as the command line says it; the same for every question. */
export interface SourceOptions {
  /** Folders and files of manifests; `-` is standard input. */
  readonly manifests?: readonly string[];
  /** A file that `sluice inspect dump` wrote. */
  readonly dump?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  /** kubectl's own cluster, whether or not an agent is on this node. */
  readonly isCluster?: boolean;
  /** Of the node's agent; without it the default one, where it is there. */
  readonly socket?: string;
  /** Of names that say none, and what lists are about. */
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  /** kubectl's selector syntax. */
  readonly selector?: string;
}

/** What a question needs beside what policy sees: without it nobody asks for it, and nobody misses the right. */
export interface QuestionNeeds {
  readonly workloads?: boolean;
  readonly services?: boolean;
  /** Namespaces that it is about, for callers who may not list the whole cluster. */
  readonly namespaces?: readonly string[];
  /** Addresses of which an agent is asked by which names they were allowed. */
  readonly addresses?: readonly Address[];
}

export const DEFAULT_SOCKET = '/run/sluice/sluice.sock';
