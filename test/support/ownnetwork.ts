/**
 * Loaded by each worker of the kernel tests before anything else: a network namespace, a /run and a /sys of its own, so
 * that files run side by side. What the tests call the first namespace of the machine is then this one, names of
 * namespaces and sockets in /run meet no others, and all of it ends with the worker. Loaded by `require`, while the
 * process has one thread that does IO: namespaces belong to threads, and those that it starts later inherit them.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import koffi from 'koffi';

const CLONE_NEWNS = 0x00020000;
const CLONE_NEWNET = 0x40000000;
const MS_REC = 0x4000;
const MS_PRIVATE = 0x40000;

// Processes and threads that a worker starts are given its options too. A worker that is a thread (scripts/vm) shares its
// IO with others, and runs alone.
if (isMainThread && process.env.SLUICE_OWN_NETWORK === undefined) {
  process.env.SLUICE_OWN_NETWORK = `${process.pid}`;
  enterOwn();
}

function enterOwn(): void {
  const libc = koffi.load(null);
  const unshare = libc.func('int unshare(int flags)');
  const mount = libc.func('int mount(str source, str target, str type, unsigned long flags, str data)');
  const check = (result: number, what: string) => {
    if (result !== 0) throw new Error(`kernel tests need root: ${what}: errno ${koffi.errno()}`);
  };
  check(unshare(CLONE_NEWNS | CLONE_NEWNET), 'unshare');
  check(mount('none', '/', null, MS_REC | MS_PRIVATE, null), 'mount --make-rprivate /');
  check(mount('tmpfs', '/run', 'tmpfs', 0, null), 'mount /run');
  check(mount('sysfs', '/sys', 'sysfs', 0, null), 'mount /sys');
  for (const folder of ['/run/netns', '/run/lock']) mkdirSync(folder);
  const { status, stderr } = spawnSync('ip', ['link', 'set', 'lo', 'up'], { encoding: 'utf8' });
  check(status ?? -1, `ip link set lo up: ${stderr}`);
}
