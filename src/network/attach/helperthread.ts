/**
 * Enters other network namespaces, one at a time, in a thread of its own: the agent's never leaves its home. A thread
 * that cannot come home ends; the next request starts another.
 */
import { closeSync, constants, existsSync, openSync, rmSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { parentPort } from 'node:worker_threads';
import koffi from 'koffi';
import { errnoName } from '../../kernel/netlink/wire/constants.ts';
import type { HelperAnswer, HelperRequest } from './helper.ts';
import { placeInSafeFolder, safePlace } from './namespacefolder.ts';

const libc = koffi.load(null);
const setns = libc.func('int setns(int fd, int type)');
const unshare = libc.func('int unshare(int flags)');
const socket = libc.func('int socket(int domain, int type, int protocol)');
const mount = libc.func(
  'int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data)',
);
const umount2 = libc.func('int umount2(const char *target, int flags)');

const CLONE_NEWNET = 0x40000000;
const AF_NETLINK = 16;
const SOCK_RAW_CLOEXEC = 3 | 0o2000000;
const NETLINK_ROUTE = 0;
const MS_BIND = 4096;
const MNT_DETACH = 2;
const UMOUNT_NOFOLLOW = 8;
const NSFS_MAGIC = 0x6e736673;
const OWN = '/proc/thread-self/ns/net';

const home = openSync(OWN, 'r');

parentPort!.on('message', (request: HelperRequest) => {
  let answer: HelperAnswer;
  try {
    answer = { id: request.id, ...answerTo(request) };
  } catch (error) {
    answer = { id: request.id, error: (error as Error).message };
  }
  parentPort!.postMessage(answer);
});

function answerTo({ verb, path }: HelperRequest): Partial<HelperAnswer> {
  switch (verb) {
    case 'ready':
      return {};
    case 'open':
      return open(path);
    case 'create':
      create(path);
      return {};
    case 'remove':
      remove(path);
      return {};
  }
}

function open(path: string): Partial<HelperAnswer> {
  requireNamespace(path);
  const namespace = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const made = within(namespace, path, () =>
      check('socket', socket(AF_NETLINK, SOCK_RAW_CLOEXEC, NETLINK_ROUTE)),
    );
    return { namespace, socket: made };
  } catch (error) {
    closeSync(namespace);
    throw error;
  }
}

/** Checks the path before it is opened, because opening a pipe or a device has effects. */
function requireNamespace(path: string): void {
  const { dev, ino } = statSync(path);
  if (statfsSync(path).type !== NSFS_MAGIC) throw new Error(`${path} is not a network namespace`);
  const own = statSync(OWN);
  if (dev === own.dev && ino === own.ino) throw new Error(`${path} is the node's own network namespace`);
}

function within<T>(namespace: number, path: string, work: () => T): T {
  if (setns(namespace, CLONE_NEWNET) !== 0) {
    const code = errnoName(koffi.errno());
    throw new Error(code === 'EINVAL' ? `${path} is not a network namespace` : `setns to ${path}: ${code}`);
  }
  try {
    return work();
  } finally {
    comeHome();
  }
}

function create(path: string): void {
  const place = placeInSafeFolder(path);
  if (isNamespace(place)) return;
  closeSync(openSync(place, constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW, 0o444));
  check('unshare', unshare(CLONE_NEWNET));
  try {
    check(`mount on ${path}`, mount(OWN, place, null, MS_BIND, null));
  } catch (error) {
    rmSync(place, { force: true });
    throw error;
  } finally {
    comeHome();
  }
}

function remove(path: string): void {
  if (!existsSync(dirname(path))) return;
  const place = safePlace(path);
  if (isNamespace(place)) check(`umount of ${path}`, umount2(place, MNT_DETACH | UMOUNT_NOFOLLOW));
  rmSync(place, { force: true });
}

function isNamespace(path: string): boolean {
  try {
    return statfsSync(path).type === NSFS_MAGIC;
  } catch {
    return false;
  }
}

function comeHome(): void {
  if (setns(home, CLONE_NEWNET) !== 0) process.exit(1); // ends this thread alone
}

function check(call: string, result: number): number {
  if (result < 0) throw new Error(`${call}: ${errnoName(koffi.errno())}`);
  return result;
}
