/**
 * `scripts/demo`: two nodes with a shop, and a visitor from another namespace, on this machine without a cluster. Manifests,
 * agents, kernels and packets are real; only the network is simulated.
 */

import { policyLabel } from '../../src/model/policy.ts';
import pc from '../../src/terminal/colours.ts';
import { CommandError } from '../../src/terminal/commanderror.ts';
import { noteProblems } from '../../src/terminal/problems.ts';
import type { Try } from './board.ts';
import { showByName, type Tried } from './byname.ts';
import { EDITS, type Edit } from './edits.ts';
import { excerptFor } from './excerpt.ts';
import { showHints } from './hints.ts';
import { broken, diffLine, heading, line, step } from './narrate.ts';
import { changedTries, type Outcomes, observe, wrongOnes } from './outcome.ts';
import { changeTexts, LEGEND, renderBoard, renderNft, wrongText } from './render.ts';
import { HOME, isKept, MANIFESTS, removeStage, runningDemo, Stage } from './stage.ts';

export interface DemoOptions {
  /** Leave everything running. */
  readonly keep?: boolean;
  /** Remove a demo that is running, and do nothing else. */
  readonly remove?: boolean;
  /** Try the board of a running demo once more. */
  readonly again?: boolean;
}

/** Answers why of one connection of a folder of manifests, for a person: the command itself. */
export type Explain = (from: string, to: string, manifests: string) => Promise<void>;

export async function demoCommand(
  { keep = false, remove = false, again = false }: DemoOptions,
  explain: Explain,
): Promise<void> {
  if (process.getuid?.() !== 0) throw new CommandError('the demo makes network namespaces: run it as root');
  const running = runningDemo();
  if (running !== undefined) throw new CommandError(`a demo is running already (process ${running})`);
  if (again) return tryAgain();
  if (remove) line(removeStage() ? 'removed the demo' : 'no demo is running');
  else if (isKept())
    throw new CommandError(
      `a demo that --keep left is there: --again tries it once more, with your edits of ${MANIFESTS}, and --remove removes it`,
    );
  else await playDemo(keep, explain);
}

async function playDemo(keep: boolean, explain: Explain): Promise<void> {
  heading('A shop on two nodes');
  if (removeStage()) line(pc.dim('removed what an earlier demo left running'));
  const stage = await step('2 nodes and 7 pods, as network namespaces of this machine', () => Stage.build());
  await step('one agent on each node reads the manifests and puts them in force', () => stage.start());
  await introduce(stage);
  const before = await showBoard(stage);
  const edited = await showEdit(stage, EDITS[0]!, before);
  const relabelled = await showEdit(stage, EDITS[1]!, edited);
  showKernel(stage);
  await showExplain(explain);
  const byName = await showByName(stage, MANIFESTS);
  stage.close();
  finish(stage, [before, edited, relabelled], byName, keep);
}

async function introduce(stage: Stage): Promise<void> {
  const { nodes, pods } = stage.lab.topology;
  const named = nodes.map(
    ({ name }) => [name, pods.filter(pod => pod.node === name).map(pod => pod.name)] as const,
  );
  const policies = [...(await stage.cluster()).policies.values()].map(policyLabel);
  line();
  for (const [title, names] of [...named, ['policies', policies] as const])
    for (const text of broken(`${title.padEnd(9)} ${names.join(', ')}`)) line(pc.dim(text));
}

/** The board as it is, over what a person may have edited. */
async function tryAgain(): Promise<void> {
  const stage = await Stage.attach();
  const problems = await stage.problems();
  noteProblems(problems);
  if (problems.some(({ object }) => object === undefined)) {
    stage.close();
    throw new CommandError('the agents keep the previous version of the file: mend it, then try --again');
  }
  await step('both kernels hold what the manifests say', () => stage.settle());
  const outcomes = await showBoard(stage);
  stage.close();
  judge([outcomes]);
}

async function showBoard(stage: Stage): Promise<Outcomes> {
  heading('Who reaches whom: every cell is tried with real packets');
  const board = await stage.board();
  const outcomes = await observe(stage.lab, board);
  printBoard(outcomes);
  for (const text of LEGEND) line(pc.dim(text));
  return outcomes;
}

async function showEdit(stage: Stage, edit: Edit, before: Outcomes): Promise<Outcomes> {
  heading(edit.title);
  for (const text of edit.diff) diffLine(text);
  await step('from the file to both kernels', async () => {
    edit.apply(MANIFESTS);
    await stage.settle();
  });
  const after = await observe(stage.lab, await stage.board());
  const changed = changedTries(before, after);
  printBoard(after, new Set(changed));
  line(`${pc.yellow('*')} ${changed.length} flows are not what they were:`);
  for (const text of changeTexts(changed)) line(pc.dim(`    ${text}`));
  return after;
}

function printBoard(outcomes: Outcomes, changed?: ReadonlySet<Try>): void {
  line();
  for (const text of renderBoard(outcomes, changed)) line(text);
  line();
  const wrong = wrongOnes(outcomes);
  const all = outcomes.board.tries.length;
  if (wrong.length === 0) line(`${pc.green('✓')} ${all} flows tried, ${all} as policy says`);
  for (const one of wrong) line(`${pc.bgRed(pc.white(pc.bold(' WRONG ')))} ${wrongText(one)}`);
}

function showKernel(stage: Stage): void {
  const node = stage.lab.topology.nodes[0]!.name;
  heading(`What an operator reads on ${node}: nft list table ip sluice (the way to shop/db)`);
  for (const text of excerptFor('shop/db', stage.lab.nodeNamespace(node)))
    for (const part of broken(text)) line(renderNft(part));
}

async function showExplain(explain: Explain): Promise<void> {
  heading('And why: sluice explain guest/visitor shop/db:5432');
  await explain('guest/visitor', 'shop/db:5432', MANIFESTS);
}

function finish(stage: Stage, boards: readonly Outcomes[], byName: Tried, keep: boolean): void {
  if (keep) {
    stage.keep();
    hint(stage);
  } else removeStage();
  judge(boards, byName);
}

const NO_MORE: Tried = { tried: 0, wrong: 0 };

function judge(boards: readonly Outcomes[], beside: Tried = NO_MORE): void {
  const wrong = boards.flatMap(wrongOnes).length + beside.wrong;
  const all = boards.reduce((sum, { board }) => sum + board.tries.length, beside.tried);
  if (wrong > 0) throw new CommandError(`${wrong} of ${all} flows did not do what policy says`);
  line();
  line(pc.green(`All ${all} flows did what policy says.`));
}

function hint({ lab: { names, topology } }: Stage): void {
  const namespaceOf = (node: string) => names.node(node);
  heading('Everything stays, and the agents go on. Try:');
  showHints({ topology, namespaceOf, sluice: './sluice', home: HOME, manifests: MANIFESTS });
}
