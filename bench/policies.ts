/** The most that one policy can cost within its budget: for each part that a policy can repeat. */
import { compile } from '../src/compiler/compile.ts';
import { decodeObject } from '../src/inputs/kube/decode/decode.ts';
import { openNftKernel } from '../src/kernel/netlink/nftables/nft-kernel.ts';
import { ClusterState } from '../src/model/cluster.ts';
import { plan } from '../src/nft/plan/plan.ts';
import { stagesOf } from '../src/nft/plan/stages.ts';
import type { Ruleset } from '../src/nft/ruleset.ts';
import { Netns } from './lab/unnamed.ts';
import { LARGE_POLICIES, networkPolicy } from './largepolicies.ts';
import { onTestbed } from './packets/testbed.ts';
import { worstPolicies } from './packets/worstpolicies.ts';
import { absolute, type BenchRow, median } from './row.ts';

/** More are in no policy that the API server takes. */
const MOST_BYTES = 1_500_000;
const ROUNDS = 5;
/** The event loop may be held for so long, and the kernel's commit lock. */
const HOLD_MS = { decode: 50, compile: 50, commit: 100 };

export async function benchPolicies(isWanted: (part: string) => boolean): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  const largest = new Map<string, object>();
  for (const [kind, spec] of Object.entries(LARGE_POLICIES)) {
    if (!isWanted(kind)) continue;
    const n = mostWithinBudget(spec);
    const policy = policyOf(spec, n);
    largest.set(`${kind}, ${n}`, policy);
    rows.push(...(await benchPolicy(`${kind}, ${n}`, policy)));
  }
  return [...rows, ...(await benchPacketsOf(largest))];
}

function benchPacketsOf(policies: ReadonlyMap<string, object>): Promise<BenchRow[]> {
  return onTestbed(false, testbed => worstPolicies(policies, testbed));
}

async function benchPolicy(name: string, policy: object): Promise<BenchRow[]> {
  const rounds = Array.from({ length: ROUNDS }, () => computeOnce(policy));
  const { ruleset } = rounds[0]!;
  const row = (what: keyof typeof HOLD_MS, ms: number) =>
    absolute(`${what}: ${name}${what === 'compile' ? sizeText(ruleset) : ''}`, 'ms', ms, HOLD_MS[what]);
  return [
    row('decode', median(rounds.map(({ decodeMs }) => decodeMs))),
    row('compile', median(rounds.map(({ compileMs }) => compileMs))),
    row('commit', await commitMs(ruleset)),
  ];
}

function policyOf(spec: (n: number) => object, n: number): object {
  return networkPolicy('shop', 'x', { podSelector: {}, ...spec(n) });
}

/** All in time of the CPU: a machine has other work to do. */
function computeOnce(policy: object) {
  const text = JSON.stringify(policy);
  const cluster = new ClusterState();
  cluster.apply(decodeObject(POD).event!);
  const decodeMs = threadMs(() => cluster.apply(decodeObject(JSON.parse(text)).event!));
  let ruleset: Ruleset | undefined;
  const compileMs = threadMs(() => {
    ruleset = compile(cluster, 'node');
  });
  return { decodeMs, compileMs, ruleset: ruleset! };
}

function threadMs(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'shop', labels: { app: 'a0' } },
  spec: { nodeName: 'node', containers: [{ name: 'web' }] },
  status: { podIPs: [{ ip: '10.200.0.1' }, { ip: 'fd00:2::1' }] },
};

/** The largest that is not beyond its budget, nor more than the API server takes. */
function mostWithinBudget(spec: (n: number) => object): number {
  let [low, high] = [1, 100_000];
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    if (isWithinBudget(policyOf(spec, middle))) low = middle;
    else high = middle;
  }
  return low;
}

function isWithinBudget(policy: object): boolean {
  if (JSON.stringify(policy).length > MOST_BYTES) return false;
  return !decodeObject(policy).problems.some(({ message }) => message.includes('are the most'));
}

async function commitMs(ruleset: Ruleset): Promise<number> {
  const tookMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const netns = new Netns();
    const kernel = await netns.run(() => openNftKernel());
    const stages = stagesOf(plan((await kernel.dump()).ruleset, ruleset));
    const before = process.cpuUsage();
    for (const ops of stages) await kernel.commit(ops);
    const { user, system } = process.cpuUsage(before);
    tookMs.push((user + system) / 1000);
    kernel.close();
    netns.close();
  }
  return median(tookMs);
}

function sizeText({ tables }: Ruleset): string {
  const count = { elements: 0, sets: 0, chains: 0, rules: 0 };
  for (const { sets, chains } of tables.values()) {
    count.sets += sets.size;
    count.chains += chains.size;
    for (const { elements } of sets.values()) count.elements += elements.size;
    for (const { rules } of chains.values()) count.rules += rules.length;
  }
  return ` (${count.elements} elements, ${count.sets} sets, ${count.chains} chains, ${count.rules} rules)`;
}
