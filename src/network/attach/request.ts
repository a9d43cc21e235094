/** Checks the requests of a runtime once, at the edge. Every check throws NetworkError that names the field. */

import { createHash } from 'node:crypto';
import { basename, join, normalize } from 'node:path';
import type { PodKey } from '../../model/cluster.ts';
import { NetworkError } from '../error.ts';

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const SANDBOX = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;
/** IFNAMSIZ, and the names that dev_valid_name() accepts; the kernel would replace `%d` by a number. */
const INTERFACE = /^(?!\.{1,2}$)[!-$&-.0-9;-~]{1,15}$/;
/** `lo` is there already, and the others are not one interface's: /proc/sys/net/ipv4/conf/all. */
const RESERVED = new Set(['lo', 'all', 'default']);

export function requirePod(namespace: string, name: string): PodKey {
  if (name === '' || namespace === '') throw invalid('name and namespace of the pod are both needed');
  for (const [field, value] of Object.entries({ namespace, name }))
    if (!NAME.test(value)) throw invalid(`${field} "${shown(value)}" is no name of Kubernetes`);
  return `${namespace}/${name}`;
}

export function requireSandbox(id: string): string {
  if (!SANDBOX.test(id))
    throw invalid(`id "${shown(id)}" is no id of a sandbox: 1 to 128 of A-Z a-z 0-9 _ . -`);
  return id;
}

export function requireInterfaceName(name: string): string {
  if (!INTERFACE.test(name))
    throw invalid(
      `interface "${shown(name)}" is no name of an interface: 1 to 15 characters of ASCII, no space, /, : or %`,
    );
  if (RESERVED.has(name)) throw invalid(`interface "${name}" is a name that the kernel keeps for itself`);
  return name;
}

export function invalid(message: string): NetworkError {
  return new NetworkError('invalid', message);
}

/** The text for an error message, shortened: a runtime may have sent a whole file. */
export function shown(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 80)}…`;
}

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

/** The path of a namespace that we make: the same for the same pod, so that a repeated call finds it. */
export function ownNamespacePath(prefix: string, pod: PodKey, uid: string): string {
  const folder = namespacePath(prefix === '' ? DEFAULT_PREFIX : prefix);
  const digest = createHash('sha256').update(`${pod}\0${uid}`).digest('hex').slice(0, 24);
  return join(folder, `sluice-${digest}`);
}

export function isOwnNamespacePath(path: string): boolean {
  return OWN.test(basename(path));
}
