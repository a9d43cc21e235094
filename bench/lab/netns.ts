/**
 * Work inside another network namespace without a process of its own. A socket stays in the namespace in which
 * it was made, and so does a process that was started there, while this thread comes back at once.
 */
import { closeSync, openSync } from 'node:fs';
import { enterNetworkNamespace } from './libc.ts';

/**
 * Runs `work` in the namespace at `path` (`/run/netns/…`). Only its synchronous part runs there: what it awaits
 * continues where it came from.
 */
export function inNamespace<T>(path: string, work: () => T): T {
  const there = openSync(path, 'r');
  const here = openSync('/proc/thread-self/ns/net', 'r');
  try {
    enterNetworkNamespace(there);
    return work();
  } finally {
    // If this fails the thread would go on in the wrong namespace: the throw is what we want.
    enterNetworkNamespace(here);
    closeSync(here);
    closeSync(there);
  }
}
