/**
 * The memory of the agent, as it is built and run: `sluice agent` follows an API server that has the whole cluster,
 * serves its socket and its metrics, and reads the kernel back. Memory at rest is measured after that, and the peak up
 * to then.
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
import { absolute, type BenchRow, median } from './row.ts';

/** It reads the kernel back every 30 s, and leaves garbage each time: two of them are in what is measured. */
const WATCHED_MS = 75_000;
const START_PATIENCE_MS = 120_000;
const RUNS = 5;
/** What the options of charts/sluice come to under its memory limit: three quarters of 512 MiB. */
const OPTIONS_OF_CHART = '--max-old-space-size=384 --max-semi-space-size=4';
const SIZES = [
  { size: { pods: 100, policies: 10 }, restMb: 70, peakMb: 115, startSeconds: 1.2 },
  { size: { pods: 15_000, policies: 1000 }, restMb: 100, peakMb: 170, startSeconds: 2.5 },
  { size: { pods: 100_000, policies: 1000 }, restMb: 200, peakMb: 390, startSeconds: 15 },
] as const;

/** Memory of one agent in MB, and the CPU time in seconds until its rules were in force. */
interface Weight {
  readonly rest: number;
  readonly peak: number;
  readonly startSeconds: number;
}

export async function benchMemory(): Promise<BenchRow[]> {
  const dist = builtFolder();
  const rows: BenchRow[] = [];
  for (const { size, restMb, peakMb, startSeconds } of SIZES) {
    const runs: Weight[] = [];
    for (let run = 0; run < RUNS; run++) runs.push(await weigh(dist, size));
    const middle = (of: keyof Weight) => median(runs.map(weight => weight[of]));
    const text = `${size.pods.toLocaleString('en')} pods, ${size.policies.toLocaleString('en')} policies`;
    rows.push(absolute(`memory of the agent at rest, ${text}`, 'MB', middle('rest'), restMb));
    rows.push(absolute(`memory of the agent at its peak, ${text}`, 'MB', middle('peak'), peakMb));
    rows.push(absolute(`processor time of a start, ${text}`, 's', middle('startSeconds'), startSeconds));
  }
  return [...rows, ...(await benchHugePods())];
}

async function weigh(dist: string, size: Size): Promise<Weight> {
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
    const startSeconds = processorSeconds(agent);
    await setTimeout(WATCHED_MS);
    return { rest: resident(agent, 'VmRSS'), peak: resident(agent, 'VmHWM'), startSeconds };
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
    env: { ...process.env, NODE_OPTIONS: OPTIONS_OF_CHART },
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

/** User and system time of all its threads: proc(5), in ticks of a hundredth of a second. */
function processorSeconds({ pid }: ChildProcess): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || !child.kill()) return;
  await once(child, 'exit');
}
