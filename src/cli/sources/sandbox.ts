/**
 * Runs a program of the user's on files that may be a stranger's. It sees a folder that is removed afterwards and, to
 * read only, one folder more and the programs and libraries of the system; it has no network and no other processes.
 * That needs a kernel that lets users have namespaces. Its time, its memory and what it prints have limits everywhere.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, join, resolve } from 'node:path';

export interface RunLimits {
  readonly seconds: number;
  /** The most that is printed. */
  readonly bytes: number;
}

/** The path of a program in the PATH. */
export function programInPath(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(folder => folder !== '');
  return folders.map(folder => join(folder, name)).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** A folder for one run, which is its root and working directory where programs are isolated. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-render-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

let isolation: boolean | undefined;

/** Whether users may have namespaces of their own here. */
export function isolates(): boolean {
  if (isolation !== undefined) return isolation;
  const folder = mkdtempSync(join(tmpdir(), 'sluice-render-'));
  try {
    const [program, ...words] = isolated(folder, '/bin/sh', ['-c', ':']);
    isolation = spawnSync(program!, words, { stdio: 'ignore', timeout: 10_000 }).status === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return isolation;
}

/** What is given to read is there. */
export const READABLE = '/files';

/** What the program prints; throws an Error where it exceeds a limit, or with what it says where it fails. */
export function run(
  folder: string,
  program: string,
  words: readonly string[],
  limits: RunLimits,
  readable?: string,
): Promise<string> {
  const isIsolated = isolates();
  const command = isIsolated ? isolated(folder, program, words, readable) : [program, ...words];
  const home = isIsolated ? '/tmp' : folder;
  const child = spawn(command[0]!, command.slice(1), {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      KUBECONFIG: '/dev/null',
      ...Object.fromEntries(HOMES.map(each => [each, home])),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  return printed(child, basename(program), limits);
}

const HOMES = ['HOME', 'TMPDIR', 'HELM_CACHE_HOME', 'HELM_CONFIG_HOME', 'HELM_DATA_HOME', 'HELM_PLUGINS'];

function isolated(folder: string, program: string, words: readonly string[], readable = ''): string[] {
  const given = [folder, realpathSync(program), basename(program), readable && resolve(readable)];
  return [...UNSHARE, 'sh', '-c', CHANGE_ROOT, 'sh', ...given, ...words];
}

const UNSHARE = 'unshare --user --map-root-user --net --pid --mount --fork --kill-child=KILL --'.split(' ');

/** Without a PATH the program finds no other one, such as git. The memory and the files that it writes are bounded. */
const CHANGE_ROOT = `
set -e
root=$1 program=$2 name=$3 readable=$4
shift 4
show() {
  mkdir -p "$root$2"
  mount --rbind "$1" "$root$2"
  mount -o remount,bind,ro "$root$2"
}
for each in /bin /lib /lib64 /usr/bin /usr/lib /usr/lib64 /nix/store; do
  [ ! -d "$each" ] || show "$each" "$each"
done
[ -z "$readable" ] || show "$readable" ${READABLE}
mkdir -p "$root/dev" "$root/tmp" "$root/program"
: >"$root/dev/null" >"$root/program/$name"
mount --bind /dev/null "$root/dev/null"
mount --bind "$program" "$root/program/$name"
chroot=$(PATH=$PATH:/usr/sbin:/sbin command -v chroot) # Debian's users have no sbin in their PATH
ulimit -v 4194304
ulimit -f 131072
unset PATH
exec "$chroot" "$root" "/program/$name" "$@"
`;

/** What it prints. With its process group all that it started is killed at a limit, and when it ends. */
function printed(child: ChildProcess, name: string, { seconds, bytes }: RunLimits): Promise<string> {
  const out: Buffer[] = [];
  let count = 0;
  let errors = '';
  let timer: NodeJS.Timeout | undefined;
  const text = new Promise<string>((done, failed) => {
    const fail = (why: string) => failed(new Error(why));
    timer = setTimeout(() => fail(`it takes more than ${seconds} seconds`), seconds * 1000);
    child.stdout!.on('data', (chunk: Buffer) => {
      count += chunk.length;
      if (count > bytes) fail(`it prints more than ${bytes / 1024 / 1024} MiB`);
      else out.push(chunk);
    });
    child.stderr!.on('data', (chunk: Buffer) => {
      if (errors.length < MOST_ERRORS) errors += chunk.toString('utf8');
    });
    child.on('error', error => fail(error.message));
    child.on('close', code => {
      if (code === 0) done(Buffer.concat(out).toString('utf8'));
      else fail(errors.trim() || `${name} ended with exit code ${code}`);
    });
  });
  return text.finally(() => {
    clearTimeout(timer);
    killGroup(child);
  });
}

const MOST_ERRORS = 4_096;

function killGroup({ pid, stdout, stderr }: ChildProcess): void {
  stdout!.destroy();
  stderr!.destroy();
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended, and all of its group.
  }
}
