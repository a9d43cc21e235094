/** Paths of network namespaces. */
import { createHash } from 'node:crypto';
import { basename, join, normalize } from 'node:path';
import type { PodKey } from '../../model/cluster.ts';
import { invalid, shown } from './request.ts';

const DEFAULT_PREFIX = '/run/netns';
const OWN = /^sluice-[0-9a-f]{24}$/;
const LONGEST = 4095;

/** Absolute, and without steps back. Whether a namespace is there is seen when it is opened. */
export function namespacePath(path: string): string {
  if (path === '') throw invalid('the path of the network namespace is missing');
  if (!path.startsWith('/') || path.length > LONGEST || path.includes('\0') || normalize(path) !== path)
    throw invalid(`"${shown(path)}" is no absolute path of a network namespace`);
  return path;
}

/** Where a namespace that we make stands: the same for the same pod, so that a repeated call finds it. */
export function ownNamespacePath(prefix: string, pod: PodKey, uid: string): string {
  const folder = namespacePath(prefix === '' ? DEFAULT_PREFIX : prefix);
  const digest = createHash('sha256').update(`${pod}\0${uid}`).digest('hex').slice(0, 24);
  return join(folder, `sluice-${digest}`);
}

export function isOwnNamespacePath(path: string): boolean {
  return OWN.test(basename(path));
}
