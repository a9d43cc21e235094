/**
 * What the agent weighs, as it is built and run: `sluice agent` follows an API server that has the whole cluster,
 * serves its socket and its metrics, and reads the kernel back. At rest is what it has after that, its peak the most
 * that it had until then.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { builtFolder } from './build.ts';
import { NODE, type Size } from './cluster.ts';
import { benchHugePods } from './hugepods.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import { Netns } from './lab/unnamed.ts';
import { absolute, type BenchRow } from './row.ts';

/** It reads the kernel back every 30 s, and makes the most garbage then. */
const WATCHED_MS = 35_000;
const START_PATIENCE_MS = 120_000;

export async function benchMemory(): Promise<BenchRow[]> {
  const dist = builtFolder();
  const rows: BenchRow[] = [];
  for (const pods of [10_000, 15_000]) {
    const { rest, peak } = await weigh(dist, { pods, policies: 1000 });
    const size = `${pods.toLocaleString('en')} pods, 1,000 policies`;
    rows.push(absolute(`memory of the agent at rest, ${size}`, 'MB', rest, 150));
    rows.push(absolute(`memory of the agent at its peak, ${size}`, 'MB', peak, 250));
  }
  return [...rows, ...(await benchHugePods())];
}

async function weigh(dist: string, size: Size): Promise<{ readonly rest: number; readonly peak: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const netns = new Netns();
  const running: ChildProcess[] = [];
  try {
    netns.exec('ip', ['link', 'set', 'lo', 'up']);
    const server = netns.run(() => startServer(dist, size));
    running.push(server);
    const kubeconfig = join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, kubeconfigOf(await firstLine(server)));
    const agent = netns.run(() => startAgent(dist, kubeconfig, join(folder, 'sluice.sock')));
    running.push(agent);
    await programmed(agent);
    await setTimeout(WATCHED_MS);
    return { rest: resident(agent, 'VmRSS'), peak: resident(agent, 'VmHWM') };
  } finally {
    await Promise.all(running.map(end));
    netns.close();
    rmSync(folder, { recursive: true });
  }
}

function startServer(dist: string, size: Size): ChildProcess {
  const program = join(dist, 'bench/bench/serveapi.js');
  return spawn(process.execPath, [program, JSON.stringify(size)], { stdio: ['ignore', 'pipe', 'inherit'] });
}

function startAgent(dist: string, kubeconfig: string, socket: string): ChildProcess {
  const options = ['--node', NODE, '--kubeconfig', kubeconfig, '--socket', socket, '--log-format', 'json'];
  return spawn(process.execPath, [join(dist, 'cli/sluice.js'), 'agent', ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: stdout! })) return line;
  throw new Error('the API server of the benchmark ended early');
}

async function programmed(agent: ChildProcess): Promise<void> {
  let output = '';
  agent.stdout!.setEncoding('utf8').on('data', text => {
    output += text;
  });
  for (const deadline = Date.now() + START_PATIENCE_MS; !output.includes('rules in force'); )
    if (agent.exitCode !== null || Date.now() > deadline) throw new Error(`no rules in force: ${output}`);
    else await setTimeout(50);
}

/** A size of proc(5), in MB. */
function resident({ pid }: ChildProcess, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [, kilobytes] = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)!;
  return (Number(kilobytes) * 1024) / 1e6;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || !child.kill()) return;
  await once(child, 'exit');
}
