/** `sluice coverage`: which workloads no policy isolates, and which policies and rules are about nobody. */

import { byNamespace, type Coverage, counted, coverageOf, percentOf } from '../answers/coverage/coverage.ts';
import type { CoveredWorkload, Isolation } from '../answers/coverage/isolation.ts';
import { versioned } from '../answers/schema.ts';
import { firstOf } from '../lib/text/firstof.ts';
import { plural } from '../lib/text/plural.ts';
import { DIRECTIONS, type Direction, namespaceOfPolicy } from '../model/policy.ts';
import { memberName } from '../model/workload.ts';
import pc from '../terminal/colours.ts';
import { CommandError } from '../terminal/commanderror.ts';
import { isData, writeData } from '../terminal/data.ts';
import { type JunitCase, type JunitSuite, junitLines } from '../terminal/junit.ts';
import { terminalWidth, writeDocument, writeJson, writeLines, writeNote } from '../terminal/output.ts';
import { type Finding, sarifOf } from '../terminal/sarif.ts';
import { wrap } from '../terminal/wrap.ts';
import { VERSION } from './program/version.ts';
import { noteStates, notesBeyond, readState } from './sources/readstate.ts';
import {
  isInScope,
  isScopeSure,
  namespacesOf,
  refuseUnknownNamespace,
  type SourceOptions,
  type State,
  sureNamespaces,
} from './sources/state.ts';

export type CoverageOptions = SourceOptions & {
  readonly output: 'text' | 'json' | 'yaml' | 'junit' | 'sarif';
  /** The least percentage of isolated workloads, in each direction that is asked about. */
  readonly min?: number;
  readonly direction?: Direction;
};

/** Exit code 1 where it is less than --min; 2 where policies that could not be read may decide. */
export async function coverageCommand(options: CoverageOptions): Promise<void> {
  const state = await readState(options, { workloads: true });
  noteStates(state);
  if (!state.mayNotList?.('namespaces'))
    refuseUnknownNamespace(state.scope, namespacesOf(state), `in ${state.source}`);
  const coverage = asFarAsRead(
    state,
    coverageOf(state.cluster, state.inventory, item => isInScope(state.scope, item)),
  );
  if (coverage.workloads.length === 0)
    throw new CommandError(`there is no pod and no workload that policy could select in ${state.source}`);
  const directions = options.direction === undefined ? DIRECTIONS : [options.direction];
  await write(options.output, coverage, directions, state);
  const { min = 0 } = options;
  if (directions.some(each => percentOf(counted(coverage.workloads, each)) < min)) process.exitCode = 1;
  if (isScopeSure(state.scope, sureNamespaces(state))) return;
  process.exitCode = 2;
  writeNote('this is not all: policies may be in what could not be read, as noted above');
}

/** Pods that could not be listed may be those that a policy of the cluster or a rule is about. */
function asFarAsRead({ mayNotList }: State, coverage: Coverage): Coverage {
  if (!mayNotList?.('pods')) return coverage;
  const unusedPolicies = coverage.unusedPolicies.filter(id => {
    const namespace = namespaceOfPolicy(id);
    return namespace !== '' && !mayNotList('pods', namespace);
  });
  return { ...coverage, unusedPolicies, unusedRules: [] };
}

async function write(
  format: CoverageOptions['output'],
  coverage: Coverage,
  directions: readonly Direction[],
  state: State,
): Promise<void> {
  if (isData(format)) await writeData(format, [coverageObject(coverage, directions, notesBeyond(state))]);
  else if (format === 'junit') writeDocument(junitLines('sluice coverage', suitesOf(coverage, directions)));
  else if (format === 'sarif') writeJson(sarifOf(findingsOf(coverage, directions, state), VERSION));
  else writeLines(coverageLines(coverage, directions, terminalWidth()));
}

function coverageObject(
  { workloads, ...unused }: Coverage,
  directions: readonly Direction[],
  notes: readonly string[],
) {
  const of = (some: readonly CoveredWorkload[]) =>
    Object.fromEntries(
      directions.map(direction => {
        const count = counted(some, direction);
        return [direction, { ...count, percent: percentOf(count) }];
      }),
    );
  return versioned('Coverage', {
    ...of(workloads),
    namespaces: [...byNamespace(workloads)].map(([namespace, some]) => ({ namespace, ...of(some) })),
    workloads: workloads.map(({ workload, namespace, ...each }) => ({
      workload,
      namespace,
      ...Object.fromEntries(directions.map(direction => [direction, each[direction]])),
    })),
    ...unused,
    notes,
  });
}

// As text: the figures, then what lowers them.

export function coverageLines(coverage: Coverage, directions: readonly Direction[], width: number): string[] {
  const { workloads, unusedPolicies, unusedRules } = coverage;
  const open = directions.flatMap(direction => [...openLines(workloads, direction)]);
  const unused = [
    ...unusedPolicies.map(policy => `${policy}: selects none of the pods and workloads that are there`),
    ...unusedRules.map(({ policy, rule, reason }) => `${policy} ${rule}: matches nobody: ${reason}`),
  ];
  return [
    ...tableLines(workloads, directions),
    ...(open.length > 0 ? ['', pc.bold('Not isolated'), ...open.flatMap(line => wrap(line, width, 6))] : []),
    ...(unused.length > 0
      ? ['', pc.bold('Unused'), ...unused.flatMap(line => wrap(`  ${line}`, width, 6))]
      : []),
  ];
}

function tableLines(workloads: readonly CoveredWorkload[], directions: readonly Direction[]): string[] {
  const groups = [...byNamespace(workloads), ['all', workloads] as const];
  const rows = groups.map(([namespace, some]) => [
    namespace,
    plural(some.length, 'workload'),
    ...directions.map(direction => {
      const count = counted(some, direction);
      return `${direction} ${count.isolated} (${percentOf(count)} %)`;
    }),
  ]);
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]!.length)));
  return rows.map(row =>
    row
      .map((text, column) => text.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
}

/** A line for each namespace, and one for each policy that opens some. */
function* openLines(workloads: readonly CoveredWorkload[], direction: Direction): Generator<string> {
  for (const some of byNamespace(workloads).values()) {
    const open = some.filter(each => !each[direction].isolated);
    const reasons = new Map(
      open.map(each => [
        each[direction].by,
        open.filter(other => other[direction].by === each[direction].by),
      ]),
    );
    for (const [by, those] of reasons) {
      const why = by === undefined ? '' : ` (${by} allows everything)`;
      yield `  ${direction.padEnd(7)}  ${firstOf(those, MOST_NAMED, ({ workload }) => memberName(workload))}${why}`;
    }
  }
}

const MOST_NAMED = 50;

// For programs that show findings.

function findingsOf(coverage: Coverage, directions: readonly Direction[], state: State): Finding[] {
  const finding = (
    code: string,
    object: string,
    message: string,
    effect: string,
    field?: string,
  ): Finding => ({
    ...state.placeOf?.(object, field),
    ...{ severity: 'warning', code, object, message, effect },
    ...(field !== undefined && { field }),
  });
  return [
    ...coverage.workloads.flatMap(each =>
      directions.flatMap(direction =>
        each[direction].isolated
          ? []
          : [
              finding(
                'not-isolated',
                each.workload,
                openText(each[direction], direction),
                EFFECTS[direction],
              ),
            ],
      ),
    ),
    ...coverage.unusedPolicies.map(policy =>
      finding(
        'unused-policy',
        policy,
        'selects none of the pods and workloads that are there',
        'it decides nothing',
      ),
    ),
    ...coverage.unusedRules.map(({ policy, rule, reason }) =>
      finding(
        'unused-rule',
        policy,
        `matches nobody: ${reason}`,
        'it allows and denies nothing',
        `spec.${rule}`,
      ),
    ),
  ];
}

const EFFECTS = { ingress: 'whoever can reach it may', egress: 'it may reach everything' } as const;

function openText({ by }: Isolation, direction: Direction): string {
  const why = by === undefined ? 'no policy selects it' : `${by} allows everything`;
  return `is not isolated for ${direction}: ${why}`;
}

/** A suite for each namespace, a case for each workload and direction; and one of the policies. */
function suitesOf(coverage: Coverage, directions: readonly Direction[]): JunitSuite[] {
  const { workloads, unusedPolicies, unusedRules } = coverage;
  const caseOf = ({ workload, namespace, ...each }: CoveredWorkload, direction: Direction): JunitCase => ({
    name: `${workload} ${direction}`,
    className: namespace,
    ...(!each[direction].isolated && { failure: openText(each[direction], direction) }),
  });
  const unused = [
    ...unusedPolicies.map(name => ({
      name,
      failure: 'it selects none of the pods and workloads that are there',
    })),
    ...unusedRules.map(({ policy, rule, reason }) => ({ name: `${policy} ${rule}`, failure: reason })),
  ];
  return [
    ...[...byNamespace(workloads)].map(([name, some]) => ({
      name,
      cases: some.flatMap(each => directions.map(direction => caseOf(each, direction))),
    })),
    ...(unused.length === 0
      ? []
      : [{ name: 'unused', cases: unused.map(each => ({ ...each, className: 'unused' })) }]),
  ];
}
