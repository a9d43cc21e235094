/**
 * `scripts/bench-cluster [--json]`: the agent, as it is built and installed, against a real API server. Exit code 1
 * where a budget is missed.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { absolute, type BenchRow, median, percentile } from '../../../bench/row.ts';
import { measurements, tableLines } from '../../../bench/table.ts';
import { toTerminal } from '../../../src/terminal/colours.ts';
import { printableJson } from '../../../src/terminal/printable.ts';
import type { AgentProcess } from '../../support/agent/agentprocess.ts';
import { AUDIT_USER, type AuditLine, auditLines } from '../storms/audit.ts';
import { Storm } from '../storms/storm.ts';
import { policy, populate } from './population.ts';

/** The budgets are for this size; a smaller one only shows that the benchmark works. */
const SIZE = { pods: Number(process.env.PODS ?? 15_000), policies: 1000, namespaces: 500 };
const POLICIES = 300;
const REST_S = 60;
const MAIN = join(import.meta.dirname, '../../../dist/cli/main.js');
const OPTIONS = ['--metrics-address', '127.0.0.1:9910'];

const say = (text: string) => void process.stderr.write(`${text}\n`);

const storm = await Storm.begin();
try {
  const rows = await measure();
  console.log(
    process.argv.includes('--json')
      ? measurements(rows).map(printableJson).join('\n')
      : tableLines(rows).map(toTerminal).join('\n'),
  );
  if (rows.some(({ ok }) => !ok)) process.exitCode = 1;
} finally {
  await storm.end();
}

async function measure(): Promise<BenchRow[]> {
  say(`${SIZE.pods} pods, ${SIZE.policies} policies, ${SIZE.namespaces} namespaces are being made …`);
  await populate(storm.api, SIZE);
  say('the agent starts …');
  const { agent, seconds } = await start();
  const startPeak = memoryOf(agent, 'VmHWM');
  say(`${POLICIES} policies come and go …`);
  const times = await policyTimes();
  await storm.calm();
  const peak = memoryOf(agent, 'VmHWM');
  say(`${REST_S} s of rest …`);
  const requests = await requestsAtRest();
  return [
    absolute('start to rules in force', 's', seconds, 10),
    absolute('memory at rest', 'MB', memoryOf(agent, 'VmRSS'), 150),
    absolute('memory at its peak while it starts', 'MB', startPeak, 250),
    absolute('memory at its peak', 'MB', peak, 250),
    absolute('policy sent to policy in force, p50', 'ms', median(times), 20),
    absolute('policy sent to policy in force, p99', 'ms', percentile(times, 99), 150),
    absolute(`requests in ${REST_S} s of rest, but watches`, 'requests', requests.length, 0),
  ];
}

/** All that the policies say is in the agent's first commit. */
async function start(): Promise<{ agent: AgentProcess; seconds: number }> {
  const before = await storm.generation();
  const startMs = performance.now();
  const agent = storm.startAgent({ main: MAIN, options: OPTIONS });
  while ((await storm.generation()) === before) await setTimeout(1);
  const seconds = (performance.now() - startMs) / 1000;
  await storm.calm(0);
  return { agent, seconds };
}

/** Each from the moment before its request is sent; they come at random moments, also while another waits for its turn. */
async function policyTimes(): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < POLICIES; i++) {
    await setTimeout(20 + 400 * Math.random());
    const object = policy(`ns-${i % 100}/new-${i}`, i * 7);
    const before = await storm.generation();
    const startMs = performance.now();
    const sent = storm.api.create(object);
    while ((await storm.generation()) === before) await setTimeout(0);
    times.push(performance.now() - startMs);
    await sent;
  }
  return times;
}

async function requestsAtRest(): Promise<readonly AuditLine[]> {
  await setTimeout(2000);
  const before = auditLines(storm.plane.auditLog).length;
  await setTimeout(REST_S * 1000);
  const after = auditLines(storm.plane.auditLog).slice(before);
  return after.filter(({ user, verb }) => user.username === AUDIT_USER && verb !== 'watch');
}

function memoryOf({ pid }: AgentProcess, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return (Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)![1]) * 1024) / 1e6;
}
