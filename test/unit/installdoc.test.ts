/** What docs/install.md tells people to type is there: values of the chart, commands and their options. */
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const page = read('docs/install.md');

const blocks = page.match(/(?<=\n\n)(?: {4}.*\n)+/g)!.map(block => block.replace(/^ {4}/gm, ''));
const inline = [...page.matchAll(/`([^`]+)`/g)].map(([, code]) => code!);
const commands = [...blocks.flatMap(block => block.split('\n')), ...inline].map(line =>
  line.replace(/\s+#.*/, ''),
);

test('every block is a script', () => {
  expect(blocks.length).toBeGreaterThan(3);
  for (const block of blocks) {
    const { status, stderr } = spawnSync('bash', ['-n'], { input: block, encoding: 'utf8' });
    expect([status, stderr], block).toEqual([0, '']);
  }
});

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly enum?: readonly unknown[];
  readonly type?: string;
}

describe('every value that is set', () => {
  const schema: Schema = JSON.parse(read('charts/sluice/values.schema.json'));
  const sets = commands.flatMap(
    line =>
      /--set[ =](\S+)/.exec(line)?.[1]?.split(',') ??
      (/^[a-zA-Z.]+=\w\S*$/.test(line) ? line.split(',') : []),
  );

  test.each([...new Set(sets)])('%s is one of the chart', set => {
    const [path, value] = set.split('=') as [string, string];
    const found = path.split('.').reduce<Schema | undefined>((at, name) => at?.properties?.[name], schema);
    expect(found, path).toBeDefined();
    if (found!.enum !== undefined) expect(found!.enum).toContain(value);
    if (found!.type === 'boolean') expect(['true', 'false']).toContain(value);
  });
});

describe('every command of sluice', () => {
  const uses = commands.flatMap(line => {
    const [, command, words] = /(?:^|-- |\.\/)sluice ([a-z]+)((?: [^|&]+)?)$/.exec(line) ?? [];
    return command === undefined ? [] : [{ command, words: words ?? '' }];
  });
  const helpOf = (command: string) =>
    execFileSync('node', [join(ROOT, 'src/cli/main.ts'), command, '--help'], { encoding: 'utf8' });

  test.each([...new Set(uses.map(({ command }) => command))])(
    'sluice %s is there, with its options',
    command => {
      const help = helpOf(command);
      expect(help).toContain(`sluice ${command}`);
      const options = uses
        .filter(use => use.command === command)
        .flatMap(({ words }) => words.match(/--[a-z-]+/g) ?? []);
      for (const option of options) expect(help).toContain(option);
    },
  );

  test('are some', () => expect(uses.length).toBeGreaterThan(3));
});

test('what people copy is of a version that the definitions serve which the README has them apply', () => {
  const [, served] = /is in v[\d.]+ \(as (\w+)\)/.exec(read('README.md'))!;
  const copied = globSync(['examples/**/*.yaml', 'docs/*.md', 'bench/demo/*.ts'], { cwd: ROOT }).flatMap(
    file =>
      [...read(file).matchAll(/networking\.k8s\.io\/(\w+)\s+kind: ClusterNetworkPolicy/g)].map(
        ([, version]) => `${file}: ${version}`,
      ),
  );
  expect(copied.length).toBeGreaterThan(15);
  expect(copied.filter(each => !each.endsWith(` ${served}`))).toEqual([]);
});
