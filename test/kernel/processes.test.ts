/** How processes of the command end: by signals, at any moment, and with the one that launched them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Netns } from './netns.ts';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const SLUICE = path('../../src/cli/sluice.ts');
const MAIN = path('../../src/cli/main.ts');
/** What sluice.ts does where Node is too old to run the command itself. */
const LAUNCH = `import { launch } from '${path('../../src/cli/launch.ts')}';
launch(process.execPath, process.argv.slice(2));`;

let netns: Netns;
let folder: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  netns = new Netns();
  folder = mkdtempSync(join(tmpdir(), 'sluice-processes-'));
});

afterEach(async () => {
  for (const child of children.splice(0)) await killed(child);
  netns.close();
  rmSync(folder, { recursive: true });
});

function start(args: readonly string[]): ChildProcess {
  const child = netns.run(() => spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] }));
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').resume();
  children.push(child);
  return child;
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

const launched = (...words: string[]) =>
  start(['--input-type=module', '-e', LAUNCH, 'launch', MAIN, ...words]);
const agentWords = () => [
  ...['agent', '--node', 'n1', '--manifests', folder],
  ...['--socket', 'none', '--metrics-address', 'none', '--log-format', 'json'],
];

async function until<T>(what: string, look: () => T | undefined, pollMs = 1): Promise<T> {
  for (const deadline = Date.now() + 30_000; ; await setTimeout(pollMs)) {
    const found = look();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`never happened: ${what}`);
  }
}

function proc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** SigCgt: signals with a handler. */
function catches(pid: number, signal: NodeJS.Signals): boolean {
  const mask = /^SigCgt:\s*(\w+)$/m.exec(proc(pid, 'status'))?.[1] ?? '0';
  return ((BigInt(`0x${mask}`) >> BigInt(constants.signals[signal] - 1)) & 1n) === 1n;
}

/** A zombie has ended. */
function lives(pid: number): boolean {
  return /^State:\s*[^Z]/m.test(proc(pid, 'status'));
}

function childOf(pid: number): number | undefined {
  const threads = readdirSync(`/proc/${pid}/task`);
  const pids = threads.flatMap(thread => proc(pid, `task/${thread}/children`).trim().split(' '));
  return pids.map(Number).find(child => child > 0);
}

const tables = () => netns.exec('nft', ['list', 'tables']);
const rulesStand = () => until('rules', () => tables() || undefined, 100);

describe('sluice agent', () => {
  test('ends well when it is stopped while it is still being loaded, and has done nothing', async () => {
    const agent = start([SLUICE, ...agentWords()]);
    // The native library comes with the agent's own parts.
    await until('the parts are loaded', () => proc(agent.pid!, 'maps').includes('koffi') || undefined);
    expect(catches(agent.pid!, 'SIGTERM')).toBe(true);
    agent.kill('SIGTERM');
    await once(agent, 'exit');
    expect([agent.exitCode, agent.signalCode, tables()]).toEqual([0, null, '']);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('ends well by %s, and its rules stay', async signal => {
    const agent = start([SLUICE, ...agentWords()]);
    await rulesStand();
    agent.kill(signal);
    await once(agent, 'exit');
    expect([agent.exitCode, agent.signalCode]).toEqual([0, null]);
    expect(tables()).toContain('table ip sluice');
  });
});

describe('a command that another Node was launched for', () => {
  test('has its exit code', async () => {
    const launcher = launched('explain', '--manifests', folder);
    await once(launcher, 'exit');
    expect(launcher.exitCode).toBe(2);
  });

  test('ends with it by SIGTERM, and says so by its exit code', async () => {
    // It reads standard input, which stays open.
    const launcher = launched('explain', '--flows', '-', '--manifests', folder);
    const child = await childWithout(launcher, 'SIGTERM');
    launcher.kill('SIGTERM');
    await once(launcher, 'exit');
    expect([launcher.exitCode, launcher.signalCode]).toEqual([128 + constants.signals.SIGTERM, null]);
    expect(lives(child)).toBe(false);
  });

  test('ends as an agent does when it was killed: its rules stay', async () => {
    const launcher = launched(...agentWords());
    await rulesStand();
    const child = childOf(launcher.pid!)!;
    try {
      await killed(launcher);
      await until('the child ends', () => !lives(child) || undefined);
    } finally {
      if (lives(child)) process.kill(child, 'SIGKILL');
    }
    expect(tables()).toContain('table ip sluice');
  });
});

/** The child of a launcher, once it runs with no handler of the signal. */
async function childWithout(launcher: ChildProcess, signal: NodeJS.Signals): Promise<number> {
  const child = await until('a child', () => childOf(launcher.pid!));
  // Until it is its own program it has the launcher's words and handlers.
  const runs = () => proc(child, 'cmdline').includes('main.ts') && !catches(child, signal);
  await until('it runs', () => runs() || undefined);
  return child;
}
