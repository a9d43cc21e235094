/** `sluice replay`, `audit` and `diff --recorded`, of files that are right, cut off, huge and forged. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadManifests } from '../../src/cli/sources/manifests.ts';
import { recordingLines } from '../../src/observe/recording/write.ts';
import { parseFlow } from '../../src/semantics/flowtext.ts';
import { SCHEMA, wrongWith } from '../support/questions/schema.ts';
import { recordingOf } from '../support/recorded.ts';

const ROOT = join(import.meta.dirname, '../..');
const MAIN = join(ROOT, 'src/cli/main.ts');
const SHOP = join(ROOT, 'examples/shop');
let folder: string;
let lines: string[];
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const sluice = (...words: string[]) =>
  spawnSync(process.execPath, [MAIN, ...words], { encoding: 'utf8', env: { ...process.env, NO_COLOR: '1' } });

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-recordings-'));
  const { cluster } = await loadManifests(SHOP);
  const flows = [
    'guest/visitor -> shop/web:80',
    'guest/visitor -> shop/db:5432',
    'shop/api -> shop/db:5432',
    '192.0.2.7 -> shop/web:80',
    'shop/api -> shop/web/ICMP',
  ].map(text => parseFlow(cluster, text));
  lines = [...recordingLines(recordingOf({ ...cluster, policies: new Map() }, 'deny', flows))];
  file('shop.rec', `${lines.join('\n')}\n`);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const DENY = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'closed', namespace: 'shop', annotations: { 'sluice.dev/enforcement': 'audit' } },
  spec: { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Ingress', 'Egress'] },
};

test('every line is what the schema says', () => {
  const ofLine = new Ajv2020({ strict: false }).compile({
    ...SCHEMA,
    $id: `${SCHEMA.$id}/line`,
    oneOf: [{ $ref: '#/$defs/RecordingLine' }],
    required: [],
  });
  const [header, ...others] = lines.map(line => JSON.parse(line));
  expect(wrongWith(header)).toEqual([]);
  for (const line of others) expect([line, ofLine(line), ofLine.errors]).toEqual([line, true, null]);
});

test('replay says who decides, by its exit code too', () => {
  const { status, stdout } = sluice('replay', join(folder, 'shop.rec'), '--manifests', SHOP, '-o', 'json');
  const object = JSON.parse(stdout);
  expect([status, wrongWith(object)]).toEqual([1, []]);
  const found = object.connections.map(
    ({ from, to, port, was, verdict, policy = '' }: Record<string, string>) =>
      `${from} ${to} ${port} ${was} ${verdict} ${policy}`,
  );
  expect(found).toContainEqual('guest/visitor shop/db 5432 allow deny NetworkPolicy shop/db');
  expect(found).toContainEqual('shop/api shop/db 5432 allow allow NetworkPolicy shop/db');
  const text = sluice('replay', join(folder, 'shop.rec'), '--manifests', SHOP).stdout;
  expect(text).toMatch(/^denied, and was allowed:\n {2}guest\/visitor -> shop\/\w+:\d+\/TCP {2}1 connection/);
  const open = file('none.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [] }));
  expect(sluice('replay', join(folder, 'shop.rec'), '--manifests', open).status).toBe(0);
});

test('what the end of another node denies is not said to have been allowed there', () => {
  const sections = (seen: string) => {
    const text = lines.join('\n').replaceAll('"egress":1,"ingress":1', seen);
    const recording = file('oneend.rec', `${text}\n`);
    const { stdout, status } = sluice('replay', recording, '--manifests', SHOP);
    const object = JSON.parse(sluice('replay', recording, '--manifests', SHOP, '-o', 'json').stdout);
    expect([status, wrongWith(object)]).toEqual([1, []]);
    const line = 'guest/visitor -> shop/db:5432/TCP';
    return stdout
      .split('\n\n')
      .find(part => part.includes(line))
      ?.split('\n')[0];
  };
  expect(sections('"egress":1,"ingress":0')).toMatch(/^denied, and whether it was is not known/);
  expect(sections('"egress":0,"ingress":1')).toBe('denied, and was allowed:');
  expect(sections('"egress":1,"ingress":1')).toBe('denied, and was allowed:');
});

test('audit judges what is audited, by name, and nothing else', () => {
  const policies = file('closed.json', JSON.stringify(DENY));
  const words = ['--recorded', join(folder, 'shop.rec'), '--manifests', policies];
  const { status, stdout } = sluice('audit', 'shop/closed', ...words, '-o', 'json');
  const object = JSON.parse(stdout);
  expect([status, wrongWith(object), object.wouldAllow]).toEqual([1, [], []]);
  expect(object.wouldDeny.map(({ connections }: { connections: number }) => connections)).toEqual([1, 1, 1]);
  expect(sluice('audit', ...words).stdout).toMatch(
    /^NetworkPolicy shop\/closed: audited, not enforced\n {2}would have denied 3 connections in .* on n1:\n/,
  );
  const enforced = file(
    'enforced.json',
    JSON.stringify({ ...DENY, metadata: { name: 'closed', namespace: 'shop' } }),
  );
  const refused = sluice(
    'audit',
    'shop/closed',
    '--recorded',
    join(folder, 'shop.rec'),
    '--manifests',
    enforced,
  );
  expect([refused.status, refused.stderr]).toEqual([2, expect.stringMatching('is enforced, not audited')]);
});

test('diff --recorded says which recorded connections a change cuts', () => {
  const now = file('now.json', JSON.stringify({ ...DENY, metadata: { name: 'web', namespace: 'shop' } }));
  const words = ['diff', SHOP, now, '--with', SHOP, '--recorded', join(folder, 'shop.rec'), '-o', 'json'];
  const object = JSON.parse(sluice(...words).stdout);
  const cut = object.cuts.map(({ from, to }: Record<string, string>) => `${from} ${to}`);
  expect([wrongWith(object), cut, object.deniedBefore]).toEqual([
    [],
    ['guest/visitor shop/web', '192.0.2.7 shop/web'],
    2,
  ]);
});

test('what is wrong with the policies is in the JSON of every answer', () => {
  const { metadata, ...rest } = DENY;
  const unreadable = {
    ...rest,
    metadata: { name: 'bad', namespace: 'shop' },
    spec: { podSelector: { matchLabels: 1 } },
  };
  const items = [{ ...rest, metadata }, unreadable];
  const bad = file('bad.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const recording = join(folder, 'shop.rec');
  const tests = file(
    'bad.test.yaml',
    JSON.stringify({
      title: 't',
      manifests: ['bad.json', SHOP],
      flows: ['guest/visitor -> shop/web:80 allow'],
    }),
  );
  for (const words of [
    ['replay', recording, '--manifests', bad],
    ['audit', '--recorded', recording, '--manifests', bad],
    ['diff', SHOP, bad, '--with', SHOP, '--recorded', recording],
    ['matrix', '--manifests', bad, '--manifests', SHOP],
    ['explain', 'guest/visitor', 'shop/web:80', '--manifests', bad, '--manifests', SHOP],
    ['test', tests],
  ]) {
    const object = JSON.parse(sluice(...words, '-o', 'json').stdout);
    expect([words, wrongWith(object)]).toEqual([words, []]);
    expect([words, object.notes.join('\n')]).toEqual([
      words,
      expect.stringMatching(/NetworkPolicy shop\/bad.*spec\.podSelector\.matchLabels/),
    ]);
  }
  const markdown = sluice('diff', SHOP, bad, '--with', SHOP, '-o', 'md').stdout;
  expect(markdown).toMatch(/^> .*NetworkPolicy shop\/bad/m);
});

test('the comparison says what its recording lacks', () => {
  const cut = file('half.rec', lines.join('\n').slice(0, -60));
  const words = ['diff', SHOP, SHOP, '--recorded', cut, '-o', 'json'];
  expect(JSON.parse(sluice(...words).stdout).notes).toContainEqual(
    expect.stringMatching('the recording is cut off'),
  );
});

test('record looks at once whether it can write its file, and leaves nothing there', () => {
  for (const target of [join(folder, 'nowhere', 'a.rec'), folder]) {
    const { status, stderr } = sluice('record', target, '--for', '1d', '--socket', join(folder, 'no.sock'));
    expect([status, stderr]).toEqual([2, expect.stringMatching(/^sluice: cannot write .*: /)]);
  }
  const { stderr } = sluice('record', join(folder, 'new.rec'), '--socket', join(folder, 'no.sock'));
  expect(stderr).toMatch('no agent');
  expect(readdirSync(folder).filter(name => name.startsWith('new.rec'))).toEqual([]);
});

test('record replaces a file that is there with --force alone', () => {
  const there = file('there.rec', 'precious');
  const words = ['record', there, '--socket', join(folder, 'no.sock')];
  const refused = sluice(...words);
  expect([refused.status, refused.stderr]).toEqual([
    2,
    `sluice: cannot write ${there}: it exists (--force replaces it)\n`,
  ]);
  expect(sluice(...words, '--force').stderr).toMatch('no agent');
  expect(readFileSync(there, 'utf8')).toBe('precious');
});

test('a file that does not exist is said to, in words', () => {
  const audited = file('audited.json', JSON.stringify(DENY));
  for (const words of [
    ['replay', 'nofile', '--manifests', SHOP],
    ['audit', '--recorded', 'nofile', '--manifests', audited],
    ['suggest', '-n', 'shop', '--recorded', 'nofile'],
  ])
    expect([words, sluice(...words).stderr]).toEqual([
      words,
      expect.stringMatching(/^sluice: cannot read nofile: it does not exist$/m),
    ]);
  const nowhere = join(folder, 'nowhere', 'a.rec');
  expect(sluice('record', nowhere, '--socket', join(folder, 'no.sock')).stderr).toBe(
    `sluice: cannot write ${nowhere}: its folder does not exist\n`,
  );
});

test('a namespace of which nothing is recorded is refused, and labels that nobody had are noted', () => {
  const words = ['replay', join(folder, 'shop.rec'), '--manifests', SHOP];
  const refused = sluice(...words, '-n', 'nosuch');
  expect([refused.status, refused.stdout, refused.stderr]).toEqual([
    2,
    '',
    'sluice: nothing is recorded of pods in namespace nosuch\n',
  ]);
  const noted = sluice(...words, '-n', 'shop', '-l', 'app=nosuch');
  expect([noted.status, noted.stderr]).toEqual([0, 'note: nothing is recorded of pods that -l selects\n']);
});

test('a file that is cut off is judged as far as it goes, and says so', () => {
  const cut = file('cut.rec', lines.join('\n').slice(0, -60));
  const { status, stderr } = sluice('replay', cut, '--manifests', SHOP);
  expect([status, stderr]).toEqual([1, expect.stringMatching(/^note: the recording is cut off/)]);
});

test.each([
  ['a node was away', { missedOn: ['n2'] }, /a part is missing of what n2 saw/],
  ['connections were lost', { lost: 3 }, /3 connections lost/],
  ['some had no room', { leftOut: [{ namespace: 'shop', connections: 2 }] }, /2 connections left out/],
])('where %s nobody says that all are allowed: what is denied is known all the same', (_, lacks, note) => {
  const [header, ...others] = lines;
  const text = [JSON.stringify({ ...JSON.parse(header!), ...lacks }), ...others].join('\n');
  const recording = file('lacks.rec', `${text}\n`);
  const open = file('none.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [] }));
  const elsewhere = { ...DENY, spec: { podSelector: { matchLabels: { app: 'nobody' } } } };
  const audited = file('elsewhere.json', JSON.stringify(elsewhere));
  for (const [words, status] of [
    [['replay', recording, '--manifests', open], 2],
    [['replay', recording, '--manifests', SHOP], 1],
    [['audit', '--recorded', recording, '--manifests', audited], 2],
    [['audit', '--recorded', recording, '--manifests', file('closed.json', JSON.stringify(DENY))], 1],
  ] as const) {
    const answer = sluice(...words);
    expect([words, answer.status, answer.stderr]).toEqual([words, status, expect.stringMatching(note)]);
  }
  const { stdout } = sluice('suggest', '-n', 'guest', '--recorded', recording);
  expect(stdout).toMatch(new RegExp(`^# What is missing of it, they may deny: .*${note.source}`, 'm'));
});

test.each([
  [
    'what is none',
    'kind: List\n',
    /none\.rec: line 1: is no JSON object; nothing of the recording is judged/,
  ],
  ['one line without an end', 'x'.repeat(3_000_000), /none\.rec: a line has more than 1000000 characters/],
  ['nothing at all', '', /none\.rec: is not what `sluice record` writes/],
])('%s is refused with a sentence', (_, text, message) => {
  const { status, stderr, stdout } = sluice('replay', file('none.rec', text), '--manifests', SHOP);
  expect([status, stdout, stderr]).toEqual([2, '', expect.stringMatching(message)]);
});

test.each([
  ['replay', 'text'],
  ['replay', 'json'],
  ['replay', 'yaml'],
  ['audit', 'text'],
  ['audit', 'json'],
  ['diff', 'text'],
  ['suggest', ''],
])('names that somebody forged reach no terminal as they are: %s %s', (command, output) => {
  const forged = `${lines.join('\n').replaceAll('visitor', '\\u001b[2J\\u202e\\u009bvil')}\n`;
  const recording = file('forged.rec', forged);
  const audited = file('audited.json', JSON.stringify(DENY));
  const words = {
    replay: ['replay', recording, '--manifests', audited, '--manifests', SHOP],
    audit: ['audit', '--recorded', recording, '--manifests', audited],
    diff: ['diff', SHOP, audited, '--with', SHOP, '--recorded', recording],
    suggest: ['suggest', '-n', 'shop', '--recorded', recording],
  }[command]!;
  const { stdout, stderr } = sluice(...words, ...(output === '' ? [] : ['-o', output]));
  if (command !== 'diff') expect(stdout).toMatch(/(\\x1b|\\u001b|\\e)\[2J/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what must not be there
  expect(stdout + stderr).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
});

test('suggest writes policies that replay allows, and says what they still deny', () => {
  const { status, stdout, stderr } = sluice('suggest', '-n', 'shop', '--recorded', join(folder, 'shop.rec'));
  expect([status, stderr]).toEqual([1, '']);
  expect(stdout).toMatch(/^# {3}shop\/api -> shop\/web\/ICMP {2}1 connection {2}NetworkPolic/m);
  expect(stdout).toMatch(/^# The least policies for 5 connections recorded in .* on n1: /);
  expect(stdout).toMatch(
    /^# They deny what was allowed, as far as was recorded \(no NetworkPolicy allows ICMP without all ports\): 1 connection$/m,
  );
  expect(stdout).toContain('# No question to DNS (port 53) is recorded');
  expect(stdout).not.toContain('pod-template-hash');
  const replayed = sluice('replay', join(folder, 'shop.rec'), '--manifests', file('suggested.yaml', stdout));
  expect([replayed.status, replayed.stdout]).toEqual([1, expect.stringMatching(/: 4 allowed, 1 denied\n$/)]);
  const none = sluice('suggest', '-n', 'nowhere', '--recorded', join(folder, 'shop.rec'));
  expect([none.status, none.stderr]).toEqual([
    2,
    expect.stringMatching('nothing is recorded of pods in namespace nowhere'),
  ]);
});
