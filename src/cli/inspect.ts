import { loadManifests } from '../files/load.ts';
import { knowsNode } from '../model/cluster.ts';
import { openNftKernel } from '../netlink/nft-kernel.ts';
import { type Op, opText } from '../nft/op.ts';
import { plan } from '../nft/plan.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import { compile } from '../policy/compile.ts';
import {
  type DirectionInspection,
  type Inspection,
  inspectRuleset,
  type PodInspection,
  type RuleInspection,
} from '../policy/inspect.ts';
import { requireReadable } from './check.ts';
import pc from './colours.ts';
import { CommandError } from './errors.ts';
import { type OutputOptions, writeLine } from './output.ts';

export interface InspectOptions extends OutputOptions {
  readonly manifests?: string;
  readonly node?: string;
}

/** What the kernel would need to be what it should be; absent where nobody said what that is. */
type Difference = readonly Op[] | undefined;

/** `sluice inspect`: what stands in the kernel, by pod and policy, and whether it is what it should be. */
export async function inspectCommand({ manifests, node, output }: InspectOptions): Promise<void> {
  if ((manifests === undefined) !== (node === undefined)) {
    throw new CommandError('to compare, inspect needs both --manifests and --node');
  }
  const actual = await readKernel();
  const difference = manifests === undefined ? undefined : plan(actual, await desiredOf(manifests, node!));
  const inspection = inspectRuleset(actual);
  if (output === 'json') writeJson(inspection, difference);
  else writeText(inspection, difference);
  if (difference !== undefined && difference.length > 0) process.exitCode = 1;
}

async function readKernel(): Promise<Ruleset> {
  const kernel = await openNftKernel();
  try {
    return (await kernel.dump()).ruleset;
  } finally {
    kernel.close();
  }
}

async function desiredOf(manifests: string, node: string): Promise<Ruleset> {
  await requireReadable(manifests);
  const { cluster } = await loadManifests(manifests);
  if (!knowsNode(cluster, node)) {
    throw new CommandError(
      `there is no node ${node} in ${manifests} (${[...cluster.nodes.keys()].join(', ')})`,
    );
  }
  return compile(cluster, node);
}

function writeJson(inspection: Inspection, difference: Difference): void {
  const equal = difference === undefined ? null : difference.length === 0;
  writeLine(JSON.stringify({ ...inspection, equal, difference: difference?.map(opText) ?? [] }));
}

function writeText(inspection: Inspection, difference: Difference): void {
  const { installed, pods, totals } = inspection;
  if (!installed) writeLine('no table of Sluice stands in this network namespace');
  else if (pods.length === 0) writeLine('the tables stand; no policy reaches a pod of this node');
  for (const pod of pods) writePod(pod);
  if (installed) {
    const { chains, sets, elements } = totals;
    writeLine(pc.dim(`${chains} chains, ${sets} sets, ${elements} elements in both families`));
  }
  writeLine(comparison(difference));
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
  const condition = isLast ? 'everything else' : [ports, peers].filter(Boolean).join('  ');
  const colour = { accept: pc.green, drop: pc.red, pass: pc.yellow }[verdict];
  return `${colour(verdict.padEnd(6))}  ${condition}  ${pc.dim(source ?? 'no policy decides')}`;
}

function comparison(difference: Difference): string {
  if (difference === undefined) return pc.dim('not compared: say --manifests DIR --node NAME to compare');
  if (difference.length === 0) return `${pc.green('equal')}: the kernel holds what the manifests say`;
  const shown = difference.slice(0, 20).map(op => `  ${opText(op)}`);
  const more = difference.length > shown.length ? [`  and ${difference.length - shown.length} more`] : [];
  return [`${pc.red('different')}: to be as the manifests say, the kernel needs`, ...shown, ...more].join(
    '\n',
  );
}
