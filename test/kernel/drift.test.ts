/** The agent as a process, with all that can befall it on a node: two of it, kill -9, and other users of nftables. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Lab } from '../../bench/lab/lab.ts';
import { inNamespace } from '../../bench/lab/netns.ts';
import { Agent } from '../../src/agent/agent.ts';
import { loadManifests } from '../../src/cli/sources/manifests.ts';
import { compile } from '../../src/compiler/compile.ts';
import { withDenialLimits } from '../../src/compiler/denied.ts';
import { Incremental } from '../../src/compiler/live/incremental.ts';
import { type AgentCommandOptions, denialLimits } from '../../src/daemon/options.ts';
import { sleep } from '../../src/lib/async/sleep.ts';
import { realTiming, type Timing } from '../../src/lib/async/timing.ts';
import { ClusterState } from '../../src/model/cluster.ts';
import { formatRuleset } from '../../src/nft/format/format.ts';
import type { Kernel } from '../../src/nft/kernel.ts';
import { NO_OWNERS } from '../../src/nft/missingfeature.ts';
import type { Ruleset } from '../../src/nft/ruleset.ts';
import { AgentProcess } from '../support/agent/agentprocess.ts';
import { walked } from '../support/oracle/walked.ts';
import { withoutSizes } from '../support/oracle/withoutsizes.ts';
import { arrivals, Prober } from '../support/packets/prober.ts';
import {
  ALLOWED_PORT,
  buildSite,
  FIRM_FLOWS,
  firmEvents,
  HOSTS,
  NODE,
  openIn,
} from '../support/packets/site.ts';
import { runs } from '../support/seed.ts';

const KILLS = runs(10, 6);

let lab: Lab;
let reader: Kernel;
let folder: string;
let prober: Prober | undefined;
const agents: AgentProcess[] = [];

beforeEach(async () => {
  lab = await buildSite('drift');
  reader = await openIn(lab);
  folder = mkdtempSync(join(tmpdir(), 'sluice-drift-'));
  write('site', site());
  write('bulk', []);
});

afterEach(async () => {
  prober?.kill();
  prober = undefined;
  for (const agent of agents.splice(0)) await agent.kill();
  reader.close();
  rmSync(folder, { recursive: true });
  lab.remove();
});

function startAgent(): AgentProcess {
  const agent = new AgentProcess(lab.nodeNamespace(NODE), NODE, ['--manifests', folder]);
  agents.push(agent);
  return agent;
}

function nft(script: string): string {
  const options = { input: script, encoding: 'utf8' } as const;
  return inNamespace(lab.nodeNamespace(NODE), () => spawnSync('nft', ['-f', '-'], options)).stderr;
}

/** In one step, so that nobody reads half of it. */
function write(file: string, items: readonly object[]): void {
  const list = { apiVersion: 'v1', kind: 'List', items };
  writeFileSync(join(folder, `.${file}`), JSON.stringify(list));
  renameSync(join(folder, `.${file}`), join(folder, `${file}.json`));
}

/** What `firmEvents` says, as manifests. */
function site(): object[] {
  const pods = Object.entries(HOSTS).map(([name, addresses]) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'probe', name, labels: { name } },
    spec: { nodeName: NODE, containers: [{ name: 'c' }] },
    status: { phase: 'Running', podIP: addresses[0], podIPs: addresses.map(ip => ({ ip })) },
  }));
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'probe' } },
    ...pods,
    networkPolicy('firm', []),
  ];
}

/** Opens the allowed port of t to the other pods; and to some networks. */
function networkPolicy(name: string, cidrs: readonly string[]): object {
  const from = [{ podSelector: {} }, ...cidrs.map(cidr => ({ ipBlock: { cidr } }))];
  return policyOfT(name, [{ from, ports: [{ port: ALLOWED_PORT, protocol: 'UDP' }] }]);
}

function isolating(name: string): object {
  return policyOfT(name, []);
}

function policyOfT(name: string, ingress: readonly object[]): object {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { namespace: 'probe', name },
    spec: { podSelector: { matchLabels: { name: 't' } }, policyTypes: ['Ingress'], ingress },
  };
}

/** Of an agent as it is started without options. */
const desired = async (): Promise<Ruleset> =>
  withDenialLimits(
    compile((await loadManifests(folder)).cluster, NODE),
    denialLimits({} as AgentCommandOptions),
  );

const standing = async (): Promise<Ruleset> => withoutSizes((await reader.dump()).ruleset);

async function expectNoPacketWrong(): Promise<void> {
  const trails = await prober!.stop();
  for (const [index, trail] of trails.entries()) {
    const { from, to, port } = FIRM_FLOWS[index]!;
    expect(trail.sent).toBeGreaterThan(100);
    const expected = port === ALLOWED_PORT ? trail.sent : 0;
    expect(arrivals(trail), `${from} -> ${to}:${port} ${JSON.stringify(trail.arrived.slice(0, 5))}`).toBe(
      expected,
    );
  }
}

test('a second agent ends with one sentence and changes nothing, and the first goes on', async () => {
  const first = startAgent();
  await first.inForce();
  const generation = await reader.generation();
  const { code, output } = await startAgent().end();
  expect(code).toBe(2);
  expect(output.split('\n').filter(line => line !== '' && !line.startsWith('{'))).toEqual([
    'sluice: EPERM: the tables ip sluice and ip6 sluice belong to another process: is an agent running in this network namespace already? nothing was changed',
  ]);
  expect(await reader.generation()).toBe(generation);
  write('bulk', [networkPolicy('bulk', ['192.0.2.0/24'])]);
  await first.inForce(2);
  expect(await standing()).toEqual(await desired());
});

test('an agent that is restarted over the right rules adopts the tables and changes nothing in them', async () => {
  const first = startAgent();
  await first.inForce();
  await first.kill('SIGTERM');
  const before = await reader.dump();
  expect(await reader.owner()).toBe('none');
  const second = startAgent();
  await second.inForce();
  expect(second.output).toContain('rules in force: those in the kernel were right');
  const after = await reader.dump();
  expect(await reader.owner()).toBe('another');
  expect(after.ruleset).toEqual(before.ruleset);
  expect(after.generation, 'the adoption and no more').toBe(before.generation + 1);
});

test('an agent that is killed again and again at any point never lets a packet be judged wrong', async () => {
  const kept: Ruleset[] = [];
  const networks = (n: number) =>
    Array.from({ length: 3000 }, (_, i) => `10.${50 + n}.${i >> 7}.${(i & 127) * 2}/32`);
  // A large policy that is new isolates whom it selects before its rules are ready.
  write('bulk', [isolating('bulk')]);
  kept.push(await desired());
  write('bulk', []);
  let agent = startAgent();
  await agent.inForce();
  kept.push(await desired());
  prober = await Prober.start(lab, FIRM_FLOWS);
  for (let round = 1; round <= KILLS; round++) {
    write('bulk', [networkPolicy('bulk', networks(round))]);
    kept.push(await desired());
    // Now while it follows a change, now while it starts.
    await setTimeout(Math.random() * 250);
    await agent.kill();
    const left = await standing();
    expect(
      kept.some(ruleset => isSame(ruleset, left)),
      `whole after kill ${round}`,
    ).toBe(true);
    agent = startAgent();
    if (round % 2 === 0) continue;
    await agent.inForce();
    expect(await standing()).toEqual(await desired());
  }
  await agent.inForce();
  expect(await standing()).toEqual(await desired());
  await expectNoPacketWrong();
}, 300_000);

/** For packets: what goes ahead of a change may stand already, and nothing leads to it. */
function isSame(ruleset: Ruleset, left: Ruleset): boolean {
  return equal(walked(left), walked(ruleset));
}

function equal(a: unknown, b: unknown): boolean {
  try {
    expect(a).toEqual(b);
    return true;
  } catch {
    return false;
  }
}

const FOREIGN_EDITS = [
  ['flush ruleset', ''],
  ['delete table ip sluice', 'Operation not permitted'],
  ['add rule ip sluice forward accept', 'Operation not permitted'],
  ['flush chain ip6 sluice forward', 'Operation not permitted'],
  ['add table ip6 sluice { flags dormant; }', 'Operation not permitted'],
  ['add chain ip sluice theirs', 'Operation not permitted'],
  [`delete element ip sluice ingress-pods { ${HOSTS.t[0]} }`, 'Operation not permitted'],
] as const;

test('nobody else can change or flush the tables of an agent that lives', async () => {
  const agent = startAgent();
  await agent.inForce();
  prober = await Prober.start(lab, FIRM_FLOWS);
  const before = await standing();
  for (const [edit, refusal] of FOREIGN_EDITS) {
    expect(nft(edit), edit).toContain(refusal);
    expect(await standing(), edit).toEqual(before);
  }
  await expectNoPacketWrong();
});

test('rules that were flushed while no agent lived stand again when one starts', async () => {
  await startAgent().inForce();
  await agents[0]!.kill();
  expect(nft('flush ruleset')).toBe('');
  expect((await standing()).tables.size).toBe(0);
  await startAgent().inForce();
  expect(await standing()).toEqual(await desired());
});

test('a listing of our tables that somebody loaded is made ours', async () => {
  await startAgent().inForce();
  await agents[0]!.kill();
  nft('flush ruleset');
  expect(nft(formatRuleset(await desired()))).toBe('');
  expect((await standing()).tables.size).toBe(2);
  await startAgent().inForce();
  expect(await reader.owner()).toBe('another');
  expect(await standing()).toEqual(await desired());
});

test.each(FOREIGN_EDITS)(
  'without owners, "%s" is put right within a second, with the plan in the log',
  async edit => {
    const warned: object[] = [];
    const stop = new AbortController();
    const timing = waitingTime();
    let committedMs = 0;
    const state = new ClusterState();
    const agent = new Agent({
      open: () => openIn(lab, { without: [NO_OWNERS] }),
      engine: () => new Incremental(NODE),
      timing,
      observers: [
        {
          committed: ({ ops }) => {
            if (ops.length > 0) committedMs = timing.now();
          },
        },
      ],
      log: { debug: () => {}, info: () => {}, warn: fields => void warned.push(fields), error: () => {} },
    });
    for (const event of firmEvents()) state.apply(event);
    agent.apply(firmEvents());
    const running = agent.run(stop.signal);
    try {
      const right = compile(state, NODE);
      await until(async () => equal(await standing(), right));
      expect(nft(edit)).toBe('');
      const editedMs = timing.now();
      await until(async () => warned.length > 0 && equal(await standing(), right));
      expect(committedMs - editedMs).toBeLessThan(1000);
      expect(warned).toEqual([
        { ops: expect.any(Number), repair: expect.arrayContaining([expect.any(String)]) },
      ]);
    } finally {
      stop.abort();
      await running;
    }
  },
);

/** Passes while the agent waits, and at no other time: a busy machine repairs as soon by it as a quiet one. */
function waitingTime(): Timing {
  let nowMs = 0;
  return {
    ...realTiming,
    now: () => nowMs,
    sleep: async (ms, signal) => {
      await sleep(ms, signal);
      if (!signal.aborted) nowMs += ms;
    },
  };
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 10_000; !(await condition()); await setTimeout(10))
    if (Date.now() > deadline) throw new Error('waited in vain');
}
