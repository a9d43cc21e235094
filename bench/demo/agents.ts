/** Agents as a DaemonSet would run them: one process for each node, in the node's network namespace. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Address } from '../../src/model/address.ts';
import { inNamespace } from '../lab/netns.ts';

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');

export interface DemoAgent {
  readonly node: string;
  readonly pid: number;
  readonly log: string;
  readonly child: ChildProcess;
}

/** Two network namespaces, one file system: each agent has a socket of its own. */
export const demoSocket = (node: string, folder: string) => join(folder, `${node}.sock`);

export function startAgent(
  node: string,
  namespace: string,
  manifests: string,
  home: string,
  resolvers: readonly Address[],
): DemoAgent {
  const log = join(home, `${node}.log`);
  const output = openSync(log, 'w');
  const names = resolvers.length === 0 ? [] : ['--dns-servers', resolvers.join()];
  const from = ['--manifests', manifests, '--log-format', 'json', ...names];
  const at = ['--socket', demoSocket(node, home), '--metrics-address', 'none'];
  const command = [MAIN, 'agent', '--node', node, ...from, ...at];
  // A session of its own: Ctrl-C in our terminal is for us, and with --keep it outlives us.
  const options = { detached: true, stdio: ['ignore', output, output] as const };
  const child = inNamespace(namespace, () =>
    spawn(process.execPath, command, { ...options, stdio: [...options.stdio] }),
  );
  closeSync(output);
  child.unref();
  return { node, pid: child.pid!, log, child };
}

/** Why an agent has ended, in the words of its log, or undefined while it runs. */
export function agentFailure({ node, log, child: { exitCode, signalCode } }: DemoAgent): string | undefined {
  if (exitCode === null && signalCode === null) return undefined;
  const last = readFileSync(log, 'utf8').trim().split('\n').slice(-5).join('\n');
  return `the agent of ${node} ended with ${signalCode ?? `exit code ${exitCode}`}:\n${last}`;
}

/** Ends the process, if it still is the agent that we started. */
export function stopAgent(pid: number, manifests: string): void {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    if (command.includes('agent') && command.includes(manifests)) process.kill(pid, 'SIGTERM');
  } catch {
    // The process has ended by itself.
  }
}
