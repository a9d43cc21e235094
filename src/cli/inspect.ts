import { desiredAsProgrammed } from '../answers/readback/desired.ts';
import { inspectRuleset } from '../answers/readback/inspect.ts';
import type { Inspection, PodInspection } from '../answers/readback/inspection.ts';
import { withCounts } from '../answers/readback/rulecounts.ts';
import { withoutGuard } from '../compiler/midstreamguard.ts';
import { ruleCountersIn } from '../compiler/rulecounters.ts';
import { RuleCountReader } from '../kernel/netlink/nftables/rulecounts.ts';
import { sleep } from '../lib/async/sleep.ts';
import { didYouMean } from '../lib/text/didyoumean.ts';
import { auditedNote } from '../model/audited.ts';
import type { PodKey } from '../model/cluster.ts';
import { labelOf } from '../model/policyname.ts';
import { plan } from '../nft/plan/plan.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import { CommandError } from '../terminal/commanderror.ts';
import { isData, writeData } from '../terminal/data.ts';
import { type OutputOptions, writeLines, writeNote } from '../terminal/output.ts';
import {
  type AgentProgress,
  type Expected,
  findExpected,
  type NodeOptions,
  readProgress,
} from './findexpected.ts';
import { type Comparison, inspectionLines, inspectionObject } from './inspecttext.ts';
import { lookAtKernel } from './readkernel.ts';

/** `what` is a pod, a namespace or a policy; without it everything is shown. */
export type InspectOptions = OutputOptions & NodeOptions & { readonly what?: string };

interface Look {
  readonly actual: Ruleset;
  readonly comparison: Comparison;
  /** The cluster that it is compared with, and which of its nodes this is. */
  readonly known?: Pick<Expected, 'cluster' | 'node'>;
  /** The agent has committed something since its cluster was read: the two may be of different moments. */
  readonly isMoving?: boolean;
}

/** A change that the agent has heard of may be on its way into the kernel. */
const SETTLE_MS = 1000;
const MOST_LOOKS = 3;

/** `sluice inspect`: what is programmed, by pod and policy, and whether it is what policy demands. */
export async function inspectCommand(options: InspectOptions): Promise<void> {
  const { actual, comparison, known } = await settledLook(options);
  const inspection = onlyAbout(await counted(actual), options.what, known);
  const { output } = options;
  if (isData(output)) await writeData(output, [inspectionObject(inspection, comparison)]);
  else if (output === 'name') writeLines(inspection.pods.map(({ pod }) => pod));
  else writeLines(inspectionLines(inspection, comparison, output === 'wide'));
  if (isDifferent(comparison)) process.exitCode = 1;
}

/** With what the rules have matched, where they count. */
async function counted(actual: Ruleset): Promise<Inspection> {
  const inspection = inspectRuleset(actual);
  if (ruleCountersIn(actual) === undefined) return inspection;
  const reader = new RuleCountReader();
  try {
    return withCounts(inspection, await reader.all());
  } finally {
    reader.close();
  }
}

async function settledLook(options: InspectOptions): Promise<Look> {
  let last = await look(options);
  for (let looks = 1; isUnsettled(last, options, looks) && looks < MOST_LOOKS; looks++) {
    await sleep(SETTLE_MS);
    last = await look(options, true);
  }
  if (!last.isMoving) return last;
  return { ...last, comparison: { missing: 'the agent changed its rules each time that they were read' } };
}

/** A difference that is there twice while nothing moves is one. */
function isUnsettled({ comparison, isMoving }: Look, { manifests }: InspectOptions, looks: number): boolean {
  return manifests === undefined && isDifferent(comparison) && (looks < 2 || isMoving === true);
}

async function look(options: InspectOptions, noted = false): Promise<Look> {
  const expected = await findExpected('inspect', options);
  const { ruleset: actual, queue } = await lookAtKernel();
  if ('missing' in expected) return { actual, comparison: expected };
  if (!noted) for (const note of auditedNote(expected.cluster)) writeNote(`note: ${note}`);
  const desired = desiredAsProgrammed(actual, { ...expected, queue });
  const difference = plan(actual, expected.guarded ? desired : withoutGuard(desired));
  const { source, progress } = expected;
  const isMoving = difference.length > 0 && (await hasMoved(progress, options));
  const comparison = { source, difference, ...(progress && { progress }) };
  return { actual, comparison, known: expected, isMoving };
}

async function hasMoved(before: AgentProgress | undefined, { socket }: InspectOptions): Promise<boolean> {
  return before !== undefined && (await readProgress(socket)).commits !== before.commits;
}

function isDifferent(comparison: Comparison): boolean {
  return 'difference' in comparison && comparison.difference.length > 0;
}

// What of an inspection is about a pod, a namespace or a policy.

/**
 * Of a pod (`shop/web`), a namespace (`shop`) or a policy (`NetworkPolicy shop/web`). Throws CommandError where nothing is,
 * and says why as far as the cluster is known.
 */
export function onlyAbout(
  inspection: Inspection,
  what: string | undefined,
  known?: Pick<Expected, 'cluster' | 'node'>,
): Inspection {
  if (what === undefined) return inspection;
  const pods = inspection.pods.filter(pod => isMeant(pod, what));
  if (pods.length === 0) throw new CommandError(whyNothing(inspection, what, known));
  return { ...inspection, pods };
}

function whyNothing(
  { pods }: Inspection,
  what: string,
  known: Pick<Expected, 'cluster' | 'node'> | undefined,
): string {
  const pod = known?.cluster.pods.get(what as PodKey);
  if (pod !== undefined && pod.node === known!.node)
    return `pod ${what} is of this node, and no policy that is programmed selects it`;
  const names = new Set(pods.flatMap(each => [each.pod, each.pod.slice(0, each.pod.indexOf('/'))]));
  const close = didYouMean(what, [...names]);
  const hint =
    pod !== undefined
      ? `it is of ${pod.node || 'no node yet'}`
      : close === undefined
        ? 'sluice inspect shows all'
        : `did you mean ${close}?`;
  return `no pod of this node is ${what}, is in it, or is judged by it: ${hint}`;
}

function isMeant({ pod, ingress, egress }: PodInspection, what: string): boolean {
  if (pod === what || pod.startsWith(`${what}/`)) return true;
  const rules = [...(ingress?.rules ?? []), ...(egress?.rules ?? [])];
  const label = labelOf(what);
  return rules.some(({ source = '' }) => source.split(/[ ,]+/).includes(label));
}
