import { desiredAsProgrammed } from '../answers/readback/desired.ts';
import { inspectRuleset } from '../answers/readback/inspect.ts';
import type { Inspection } from '../answers/readback/inspection.ts';
import { withCounts } from '../answers/readback/rulecounts.ts';
import { withoutGuard } from '../compiler/midstreamguard.ts';
import { ruleCountersIn } from '../compiler/rulecounters.ts';
import { RuleCountReader } from '../kernel/netlink/nftables/rulecounts.ts';
import { sleep } from '../lib/async/sleep.ts';
import { auditedNote } from '../model/audited.ts';
import { plan } from '../nft/plan/plan.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import { isData, writeData } from '../terminal/data.ts';
import { type OutputOptions, writeLines, writeNote } from '../terminal/output.ts';
import {
  type AgentProgress,
  type Expected,
  findExpected,
  type NodeOptions,
  readProgress,
} from './findexpected.ts';
import { onlyAbout } from './inspectfilter.ts';
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
