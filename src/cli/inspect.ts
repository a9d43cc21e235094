import { setTimeout as sleep } from 'node:timers/promises';
import { compile } from '../compiler/compile.ts';
import { withoutGuard } from '../compiler/midstreamguard.ts';
import { standing } from '../compiler/unknownpods.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import { type Op, opText } from '../nft/plan/op.ts';
import { plan } from '../nft/plan/plan.ts';
import { planText } from '../nft/plan/plantext.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import {
  type DirectionInspection,
  type Inspection,
  inspectRuleset,
  type PodInspection,
  type RuleInspection,
} from '../readback/inspect.ts';
import pc from '../terminal/colours.ts';
import { type OutputOptions, writeLine } from '../terminal/output.ts';
import { plural } from '../terminal/plural.ts';
import { type Expected, findExpected, type NodeOptions } from './readcluster.ts';
import { readKernel } from './readkernel.ts';

export type InspectOptions = OutputOptions & NodeOptions;

/** What the kernel would need to be what it should be, or why nobody knows. */
type Comparison =
  | { readonly says: string; readonly difference: readonly Op[] }
  | { readonly missing: string };

interface Look {
  readonly actual: Ruleset;
  readonly comparison: Comparison;
}

/** A change that the agent has heard of may be on its way into the kernel. */
const SETTLE_MS = 1000;

/** `sluice inspect`: what stands in the kernel, by pod and policy, and whether it is what it should be. */
export async function inspectCommand(options: InspectOptions): Promise<void> {
  const { actual, comparison } = await settledLook(options);
  const inspection = inspectRuleset(actual);
  if (options.output === 'json') writeJson(inspection, comparison);
  else writeText(inspection, comparison);
  if (isDifferent(comparison)) process.exitCode = 1;
}

async function settledLook(options: InspectOptions): Promise<Look> {
  const first = await look(options);
  if (options.manifests !== undefined || !isDifferent(first.comparison)) return first;
  await sleep(SETTLE_MS);
  return look(options);
}

async function look(options: InspectOptions): Promise<Look> {
  const expected = await findExpected('inspect', options);
  const actual = await readKernel();
  if ('missing' in expected) return { actual, comparison: expected };
  const difference = plan(actual, desiredBy(expected, standing(actual)));
  return { actual, comparison: { says: expected.says, difference } };
}

/** Manifests do not say what becomes of unknown pods: that is the agent's to say, and what stands is right. */
function desiredBy({ cluster, node, guarded, unknownPods }: Expected, stands: UnknownPods): Ruleset {
  const desired = compile(cluster, node, unknownPods ?? stands);
  return guarded ? desired : withoutGuard(desired);
}

function isDifferent(comparison: Comparison): boolean {
  return 'difference' in comparison && comparison.difference.length > 0;
}

function writeJson(inspection: Inspection, comparison: Comparison): void {
  const equal = 'missing' in comparison ? null : comparison.difference.length === 0;
  const difference = 'missing' in comparison ? [] : comparison.difference.map(opText);
  writeLine(JSON.stringify({ ...inspection, equal, difference }));
}

function writeText(inspection: Inspection, comparison: Comparison): void {
  const { installed, pods, totals, unknownPods } = inspection;
  if (!installed) writeLine('no table of Sluice stands in this network namespace');
  else if (pods.length === 0) writeLine('the tables stand; no policy reaches a pod of this node');
  for (const pod of pods) writePod(pod);
  if (installed) {
    writeLine(unknownPodsText(unknownPods));
    const { chains, sets, elements } = totals;
    const counts = [plural(chains, 'chain'), plural(sets, 'set'), plural(elements, 'element')];
    writeLine(pc.dim(`${counts.join(', ')} in both families`));
  }
  writeLine(comparisonText(comparison));
}

function unknownPodsText(unknownPods: UnknownPods): string {
  const who = 'addresses of the pod network that no known pod has';
  return `unknown pods are ${unknownPods === 'deny' ? pc.red('denied') : pc.green('open')} (${who})`;
}

function writePod({ pod, addresses, ingress, egress }: PodInspection): void {
  writeLine(`${pc.bold(pod)}  ${pc.dim(addresses.join('  '))}`);
  writeDirection('ingress', ingress);
  writeDirection('egress', egress);
  writeLine('');
}

function writeDirection(name: string, direction: DirectionInspection | undefined): void {
  if (direction === undefined)
    writeLine(`  ${name.padEnd(8)} ${pc.green('open')}  no policy selects the pod`);
  direction?.rules.forEach((rule, i) => {
    writeLine(`  ${(i === 0 ? name : '').padEnd(8)} ${ruleText(rule)}`);
  });
}

function ruleText({ verdict, ports, peers, source }: RuleInspection): string {
  const isLast = ports === undefined && peers === undefined;
  const condition = isLast ? 'everything else' : [ports, peers].filter(Boolean).map(shortened).join('  ');
  const colour = { accept: pc.green, drop: pc.red, pass: pc.yellow }[verdict];
  return `${colour(verdict.padEnd(6))}  ${condition}  ${pc.dim(source ?? 'no policy decides')}`;
}

/** The first of a long list, for a terminal; JSON has them all. */
function shortened(list: string | undefined): string {
  const items = (list ?? '').split(', ');
  const more = items.length - MOST_ITEMS;
  return more > 1 ? `${items.slice(0, MOST_ITEMS).join(', ')}, and ${more} more` : items.join(', ');
}

const MOST_ITEMS = 12;

function comparisonText(comparison: Comparison): string {
  if ('missing' in comparison)
    return pc.dim(`not compared: ${comparison.missing}, --manifests DIR --node NAME compares with a folder`);
  const { says, difference } = comparison;
  if (difference.length === 0) return `${pc.green('equal')}: the kernel holds what ${says}`;
  const changes = planText(difference).map(line => `  ${line}`);
  return [`${pc.red('different')}: to be as ${says}, the kernel needs`, ...changes].join('\n');
}
