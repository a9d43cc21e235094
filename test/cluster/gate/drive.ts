/** Starts pods, kills agents, counts packets: what gate-test.sh runs inside of its node. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../../../src/bench/row.ts';
import { AgentProcess } from '../../support/agent-process.ts';
import { runPod } from './runtime.ts';

const [starts = 200, atOnce = 6] = process.argv.slice(2).map(Number);
const image = process.env.GATE_IMAGE!;
const TARGET = '192.0.2.9:80';
const METRICS = '127.0.0.1:9911';
const KILL = { everyMs: 9000, deadMs: 2000 };

const MEASURED = 100;

let made = 0;

function passed(): number {
  const text = execFileSync('nft', ['list', 'table', 'inet', 'watch'], { encoding: 'utf8' });
  return Number(/packets (\d+)/.exec(text)![1]);
}

/** Answers how many packets of these pods passed. */
async function run(title: string, count: number, width: number, namespace = 'shut'): Promise<number> {
  const [before, last, took] = [passed(), made + count, [] as number[]];
  const worker = async () => {
    while (made < last) took.push(await runPod(namespace, `p${made++}`, image, TARGET));
  };
  await Promise.all(Array.from({ length: width }, worker));
  const [p50, p99] = [50, 99].map(percent => percentile(took, percent).toFixed(0));
  const packets = passed() - before;
  console.log(
    `${title}: ${took.length} pods, ${width} at once, ${packets} packets passed; sandbox p50 ${p50} ms, p99 ${p99} ms`,
  );
  return packets;
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`http://${METRICS}/metrics`)).text();
  return Number(new RegExp(`^${name}(?:\\{.*\\})? (.*)$`, 'm').exec(text)![1]);
}

/** How long the runtime waited for the rules of each of these pods, which start one after the other. */
async function measureWaits(count: number): Promise<void> {
  const waits: number[] = [];
  let before = await metric('sluice_pod_start_wait_seconds_sum');
  for (let i = 0; i < count; i++) {
    await runPod('shut', `p${made++}`, image, TARGET);
    const sum = await metric('sluice_pod_start_wait_seconds_sum');
    waits.push((sum - before) * 1000);
    before = sum;
  }
  const [p50, p99] = [50, 99].map(percent => percentile(waits, percent).toFixed(1));
  console.log(
    `of ${count} pods, one at a time, the runtime waited for the rules: p50 ${p50} ms, p99 ${p99} ms`,
  );
}

async function startAgent(gate: 'nri' | 'off'): Promise<AgentProcess> {
  const manifests = join(import.meta.dirname, 'manifests');
  const options = ['--manifests', manifests, '--metrics-address', METRICS, '--start-gate', gate];
  const agent = new AgentProcess('/proc/self/ns/net', 'n1', options);
  await agent.inForce();
  while (gate === 'nri' && !agent.output.includes('the runtime waits')) await sleep(10);
  return agent;
}

/** Over and over, until the signal; answers how often. */
async function killAndRestart(signal: AbortSignal): Promise<number> {
  let kills = 0;
  while (!signal.aborted) {
    await sleep(KILL.everyMs);
    await agent.kill();
    await sleep(KILL.deadMs);
    agent = await startAgent('nri');
    kills++;
  }
  return kills;
}

await run('no agent', atOnce, atOnce);
let agent = await startAgent('off');
await run('an agent without the gate', atOnce, atOnce);
await agent.kill();
agent = await startAgent('nri');
let wrong = await run('the gate, one at a time', 10, 1);
await measureWaits(MEASURED);
const over = new AbortController();
const killing = killAndRestart(over.signal);
wrong += await run('the gate, agent killed and restarted meanwhile', starts, atOnce);
over.abort();
console.log(`the agent was killed ${await killing} times`);
const open = await run('the gate, a namespace without policy', 10, 1, 'open');
const metrics = await (await fetch(`http://${METRICS}/metrics`)).text();
console.log(
  metrics
    .split('\n')
    .filter(line => /^sluice_pod_start.*(total|sum|count)/.test(line))
    .join('\n'),
);
await agent.kill();
process.exit(wrong === 0 && open >= 10 ? 0 : 1);
