/** Starts pods, kills agents, counts packets: what gate-test.sh runs inside of its node. */
import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../../../bench/row.ts';
import { AgentProcess } from '../../support/agent/agentprocess.ts';
import { runPod, type Start } from './runtime.ts';
import { wayOf } from './ways.ts';

const [how = ''] = process.argv.slice(2);
const [starts = 200, atOnce = 6] = process.argv.slice(3).map(Number);
const image = process.env.GATE_IMAGE!;
const way = await wayOf(how, process.env.GATE_WORK!);
/** Where pods of these namespaces send to; node.sh counts both. */
const TARGET = { shut: '203.0.113.9:80', open: '203.0.113.9:81' };
const METRICS = '127.0.0.1:9911';
const KILL = { everyMs: 9000, deadMs: 2000 };
const MEASURED = 100;

type Namespace = keyof typeof TARGET;

let made = 0;

/** How many packets of all pods so far have passed. */
function passed(): Record<Namespace, number> {
  const text = execFileSync('nft', ['list', 'table', 'inet', 'watch'], { encoding: 'utf8' });
  const [shut, open] = [...text.matchAll(/packets (\d+)/g)].map(match => Number(match[1]));
  return { shut: shut!, open: open! };
}

async function start(namespace: Namespace): Promise<Start> {
  const name = `p${made++}`;
  way.told(namespace, name);
  const started = await runPod(namespace, name, image, TARGET[namespace]);
  way.gone(name);
  return started;
}

/** Answers how many packets of these pods passed. */
async function run(title: string, count: number, width: number, namespace: Namespace): Promise<number> {
  const [before, all] = [passed()[namespace], [] as Start[]];
  let left = count;
  const worker = async () => {
    while (left-- > 0) all.push(await start(namespace));
  };
  await Promise.all(Array.from({ length: width }, worker));
  const took = all.map(({ tookMs }) => tookMs);
  const [p50, p99] = [50, 99].map(percent => percentile(took, percent).toFixed(0));
  const refused = all.filter(({ refusals }) => refusals > 0).length;
  const packets = passed()[namespace] - before;
  console.log(
    `${title}: ${count} pods, ${width} at once, ${packets} packets passed; sandbox p50 ${p50} ms, p99 ${p99} ms; ${refused} had to wait for an agent`,
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
    await start('shut');
    const sum = await metric('sluice_pod_start_wait_seconds_sum');
    waits.push((sum - before) * 1000);
    before = sum;
  }
  const [p50, p99] = [50, 99].map(percent => percentile(waits, percent).toFixed(1));
  console.log(
    `of ${count} pods, one at a time, the runtime waited for the rules: p50 ${p50} ms, p99 ${p99} ms`,
  );
}

async function startAgent(options: readonly string[], says = /rules in force/): Promise<AgentProcess> {
  const rest = ['--manifests', way.manifests, '--metrics-address', METRICS];
  const agent = new AgentProcess('/proc/self/ns/net', 'n1', [...rest, ...options]);
  await agent.inForce();
  while (!says.test(agent.output)) await sleep(10);
  return agent;
}

/** Over and over, until the signal; answers how often. */
async function killAndRestart(signal: AbortSignal): Promise<number> {
  let kills = 0;
  while (!signal.aborted) {
    await sleep(KILL.everyMs);
    await agent.kill();
    await sleep(KILL.deadMs);
    agent = await startAgent(way.options, way.says);
    kills++;
  }
  return kills;
}

/** One after the other until the signal: pods that may send, whose addresses the others get later. */
async function openOnes(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) await start('open');
}

let agent: AgentProcess;
if (way.without !== undefined) {
  await run('no agent', atOnce, atOnce, 'shut');
  agent = await startAgent(way.without);
  await run('an agent without the gate', atOnce, atOnce, 'shut');
  await agent.kill();
}
agent = await startAgent(way.options, way.says);
let wrong = await run(`${how}, one at a time`, 10, 1, 'shut');
if (how === 'gate') await measureWaits(MEASURED);
const over = new AbortController();
const others = [killAndRestart(over.signal), openOnes(over.signal)] as const;
wrong += await run(`${how}, agent killed and restarted meanwhile`, starts, atOnce, 'shut');
over.abort();
const [kills] = await Promise.all(others);
console.log(
  `the agent was killed ${kills} times; of pods that may, ${passed().open} packets passed meanwhile`,
);
const open = await run(`${how}, a namespace without policy`, 10, 1, 'open');
await agent.kill();
process.exit(wrong === 0 && open >= 10 ? 0 : 1);
