/** iproute2 with many commands at once: one process takes a whole batch. */
import { execFile, execFileSync } from 'node:child_process';

export function ipBatch(commands: readonly string[], namespace?: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = execFile('ip', args(namespace), (error, _stdout, stderr) =>
    error ? reject(batchError(stderr, error)) : resolve(),
  );
  child.stdin?.end(commands.join('\n'));
  return promise;
}

/** Goes on after a failing command: for taking things away, some of which may be gone. */
export function ipBatchForced(commands: readonly string[]): void {
  try {
    execFileSync('ip', ['-force', ...args()], {
      input: commands.join('\n'),
      stdio: ['pipe', 'ignore', 'pipe'],
    });
  } catch {
    // `ip` has done what it could, and printed its errors.
  }
}

function args(namespace?: string): string[] {
  return [...(namespace === undefined ? [] : ['-netns', namespace]), '-batch', '-'];
}

function batchError(stderr: string, cause: Error): Error {
  const [first = cause.message] = stderr.split('\n').filter(line => line !== '');
  return new Error(`ip -batch: ${first}`, { cause });
}
