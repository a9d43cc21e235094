/**
 * docs/performance.md is made of figures.yaml: sections of earlier figures, and runs that `npm run bench -- --record`
 * has added. figures.test.ts holds the page to it.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { parse, parseDocument } from 'yaml';
import type { BenchRow } from './row.ts';
import { cellsOf } from './table.ts';

const ROOT = join(import.meta.dirname, '..');
const DATA = join(import.meta.dirname, 'figures.yaml');
export const PAGE = join(ROOT, 'docs/performance.md');

interface Table {
  readonly head: readonly string[];
  readonly caption?: string;
  readonly rows: readonly (readonly string[])[];
}

interface Section {
  readonly title: string;
  /** The commands that print the figures; none if no command of the repository does. */
  readonly commands: readonly string[];
  /** The numbers of decisions that these figures support. */
  readonly decisions?: readonly number[];
  readonly conditions?: string;
  readonly tables: readonly Table[];
  readonly notes?: string;
}

interface Run {
  readonly command: string;
  readonly date: string;
  readonly commit: string;
  readonly cores: number;
  readonly load: number;
  readonly rows: readonly BenchRow[];
}

export interface Figures {
  readonly sections: readonly Section[];
  readonly runs: readonly Run[];
}

const ABOUT = `# Performance: measured figures

This page has all measured figures, and other pages link to it. It is made from \`bench/figures.yaml\`. \`npm run bench\`
measures Sluice on your machine, as root, each figure beside its budget; \`npm run bench -- --help\` lists the parts.
\`npm run bench -- SUITE --record\` puts its rows on this page, with date, commit and load.

Where nothing else is said, figures were taken on busy virtual machines with two cores. "Load" is the load average. Compare
figures of one row only.

Memory is resident memory: the process's own pages, and the pages of files that it has used, as of Node.js itself. Other
processes may share the latter, and the kernel takes them back when it needs room.`;

export const readFigures = (): Figures => parse(readFileSync(DATA, 'utf8'));

export function pageOf({ sections, runs }: Figures): string {
  return `${[ABOUT, ...sections.flatMap(sectionText), ...runs.flatMap(runText)].join('\n\n')}\n`;
}

/** The rows of a run, in place of those of the same command. */
export function recordRun(words: readonly string[], rows: readonly BenchRow[]): void {
  const run: Run = {
    command: ['npm run bench --', ...words].join(' '),
    date: new Date().toISOString().slice(0, 10),
    commit: execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim(),
    cores: availableParallelism(),
    load: Math.round(loadavg()[0]!),
    rows,
  };
  const others = readFigures().runs.filter(({ command }) => command !== run.command);
  const data = parseDocument(readFileSync(DATA, 'utf8'));
  data.set('runs', data.createNode([...others, run]));
  writeFileSync(DATA, data.toString({ lineWidth: 0, flowCollectionPadding: false }));
  writeFileSync(PAGE, pageOf(readFigures()));
}

function sectionText({ title, commands, decisions, conditions, tables, notes }: Section): string[] {
  const printed =
    commands.length === 0
      ? 'No command of the repository prints these.'
      : `Printed by ${commands.map(command => `\`${command}\``).join(', ')}.`;
  const about = [printed, conditions, decisions && `Decisions: ${decisions.map(decisionLink).join(', ')}.`];
  return [
    `## ${title}`,
    about.filter(text => text !== undefined).join(' '),
    ...tables.flatMap(tableText),
    ...(notes === undefined ? [] : [notes]),
  ];
}

function decisionLink(number: number): string {
  const begin = `${String(number).padStart(4, '0')}-`;
  const file = readdirSync(join(ROOT, 'docs/decisions')).find(name => name.startsWith(begin));
  return `[${number}](decisions/${file})`;
}

function runText({ command, date, commit, cores, load, rows }: Run): string[] {
  return [
    `## \`${command}\``,
    `${date}, commit \`${commit}\`, ${cores} cores, load ${load}.`,
    ...tableText({ head: ['', 'value', 'floor', 'ratio', 'budget', ''], rows: rows.map(cellsOf) }),
  ];
}

function tableText({ head, caption, rows }: Table): string[] {
  const [first, ...others] = [head, ...rows].map(lineOf);
  const table = [first, `|${'---|'.repeat(head.length)}`, ...others].join('\n');
  return caption === undefined ? [table] : [caption, table];
}

function lineOf(cells: readonly string[]): string {
  return `|${cells.map(cell => (cell === '' ? ' ' : ` ${cell} `)).join('|')}|`;
}
