import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

function script(shell: string): string {
  const main = join(import.meta.dirname, 'main.ts');
  return spawnSync(process.execPath, [main, 'completion', shell], { encoding: 'utf8' }).stdout;
}

const bash = script('bash');

/** The completions that bash proposes for the last word. */
function completed(...words: string[]): string[] {
  const line = ['sluice', ...words];
  const ask = `COMP_WORDS=(${line.map(word => `'${word}'`).join(' ')}) COMP_CWORD=${line.length - 1}; _sluice; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', `${bash}\n${ask}`], {
    encoding: 'utf8',
    cwd: '/',
  });
  expect(stderr).toBe('');
  return stdout.split('\n').filter(word => word !== '');
}

test.each([
  [['expl'], ['explain']],
  [['matrix', '--kubec'], ['--kubeconfig']],
  [
    ['matrix', '-o', ''],
    ['text', 'csv', 'md', 'dot', 'html', 'page', 'json', 'yaml'],
  ],
  [['matrix', '--output', 'c'], ['csv']],
  [
    ['test', '-o', 'j'],
    ['junit', 'json'],
  ],
  [
    ['inspect', '-o', ''],
    ['text', 'wide', 'name', 'json', 'yaml'],
  ],
  [
    ['explain', 'a', 'b', '--unknown-pods', ''],
    ['deny', 'allow'],
  ],
  [['check', '/et'], ['/etc']],
  [['drops', '--re'], []],
])('bash completes %j', (words, expected) => {
  expect(completed(...words)).toEqual(expected);
});

test('fish and zsh have the same words', () => {
  expect(script('fish')).toContain(
    "complete -c sluice -n '__fish_seen_subcommand_from matrix' -s o -l output -xa 'text csv md dot html page json yaml'",
  );
  expect(script('zsh')).toContain(
    "matrix:-o|matrix:--output) words='text csv md dot html page json yaml' ;;",
  );
});
