import { readlink } from 'node:fs/promises';

/** `net:[4026531840]`: equal for two processes of one machine exactly if they share a network namespace. */
export function ownNetworkNamespace(): Promise<string> {
  return readlink('/proc/self/ns/net');
}
