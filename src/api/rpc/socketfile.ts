/**
 * A unix socket that only its owner can reach, from its first moment: it is made in a directory that is ours
 * alone (0700), gets its mode there, and is moved to its place, over the socket that a dead agent left.
 */
import { chmod, lstat, mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';

/** sun_path of sockaddr_un, its final zero byte left out. */
const LONGEST_PATH = 107;

/** Someone answers there. */
export class SocketInUse extends Error {
  override readonly name = 'SocketInUse';
}

export interface PlacedSocket {
  /** Removes the file, unless another has taken its place. */
  remove(): Promise<void>;
}

/** Something that listens. */
export interface Listening {
  readonly listen: (path: string) => Promise<void>;
  /** Called if the socket cannot be created: a listener that stays open would keep the process from ending. */
  readonly stop: () => void;
}

/** `listen` is given the path to listen on. Throws SocketInUse where an agent is alive, Error where no socket can be. */
export async function placeSocket(path: string, { listen, stop }: Listening): Promise<PlacedSocket> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  await requireNoFolder(path);
  if (await isAnswered(path)) throw new SocketInUse(`${path} is in use: an agent answers there`);
  const nursery = await mkdtemp(join(dirname(path), '.s-'));
  try {
    const made = join(nursery, 's');
    requireShort(made);
    requireShort(path);
    await listen(made);
    await chmod(made, 0o600);
    const { ino } = await stat(made);
    await rename(made, path);
    return { remove: () => removeOurs(path, ino) };
  } catch (error) {
    stop();
    throw error;
  } finally {
    await rm(nursery, { recursive: true, force: true });
  }
}

/** A kubelet makes one where a pod mounts the path of a socket that is not there yet. */
async function requireNoFolder(path: string): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  if (there?.isDirectory())
    throw new Error(`${path} is a folder, where the socket has to be: remove it, and restart the agent`);
}

function requireShort(path: string): void {
  if (Buffer.byteLength(path) > LONGEST_PATH) {
    throw new Error(`the socket's path ${path} is longer than ${LONGEST_PATH} bytes`);
  }
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(path);
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => settle(true));
    socket.once('error', () => settle(false));
  });
}

async function removeOurs(path: string, ino: number): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  if (there?.ino === ino) await rm(path, { force: true });
}
