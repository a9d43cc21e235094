/** docs/workstation.md says which options each command has: -n, -A and --node mean the same everywhere. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { NodeActions } from '../../src/cli/program/nodeactions.ts';
import { makeProgram } from '../../src/cli/program/program.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/workstation.md'), 'utf8');
const OPTIONS = ['-n', '-A', '-l', '--node', '--kubeconfig', '--agents'];
const LONG: Readonly<Record<string, string>> = {
  '-n': '--namespace',
  '-A': '--all-namespaces',
  '-l': '--selector',
};

/** Commands that a cluster may be asked by, without the one that removes Sluice. */
const commands = makeProgram({} as NodeActions).commands.filter(
  command =>
    !['agent', 'uninstall'].includes(command.name()) &&
    command.options.some(({ long }) => long === '--kubeconfig'),
);

test('the table has each command that asks a cluster, with the options that it has', () => {
  const cells = (values: readonly string[]) =>
    `|${values.map(each => (each === '' ? ' ' : ` ${each} `)).join('|')}|`;
  const rows = commands.map(command => {
    const has = (option: string) => command.options.some(({ long }) => long === (LONG[option] ?? option));
    return cells([`\`${command.name()}\``, ...OPTIONS.map(option => (has(option) ? 'yes' : ''))]);
  });
  expect(commands.length).toBeGreaterThan(10);
  expect(page.match(/^\| `[a-z]+` \|.*$/gm)).toEqual(rows);
  expect(page).toContain(cells(['command', ...OPTIONS.map(option => `\`${option}\``)]));
});

test('whoever has -A has -n, and whoever has --node has --agents', () => {
  const longs = commands.map(command => ({
    name: command.name(),
    has: new Set(command.options.map(({ long }) => long)),
  }));
  for (const { name, has } of longs) {
    expect(has.has('--all-namespaces') && !has.has('--namespace'), name).toBe(false);
    expect(has.has('--node') && !has.has('--agents'), name).toBe(false);
  }
});
