/** A process of another Node that does our work: it has our files, our signals and our end, and we have its exit code. */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

/** Runs until the child has ended. */
export function launch(node: string, args: readonly string[]): void {
  // Listening comes first: a child of ours must never be without us.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  // The channel carries nothing: it is closed when we are gone, and so reaches the child even after a SIGKILL.
  const child = spawn(node, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  child.on('error', error => {
    process.stderr.write(`sluice: cannot start ${node}: ${error.message}\n`);
    process.exitCode = 2;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === null ? 1 : 128 + constants.signals[signal]);
  });
}

/** In the child process: ends it, like SIGTERM, when the process that launched it is gone. */
export function endWithLauncher(): void {
  if (process.channel === undefined || process.channel === null) return;
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}
