/** The GitHub Action, its scripts run as a runner runs them, on a clone of a repository with a pull request. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { SRC } from '../support/importgraph.ts';
import { type CompositeRun, readAction, runComposite } from '../support/questions/composite.ts';

const ROOT = join(SRC, '..');
const SHOP = join(ROOT, 'examples/shop');
const action = readAction(join(ROOT, 'action.yml'));
const hasGit = spawnSync('git', ['--version']).status === 0;

let folder: string;
let actionPath: string;
let origin: string;
let workspace: string;
let bin: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-action-'));
  actionPath = join(folder, 'action');
  mkdirSync(actionPath);
  cpSync(join(ROOT, 'sluice'), join(actionPath, 'sluice'));
  const rolldown = join(ROOT, 'node_modules/rolldown/bin/cli.mjs');
  const bundle = join(actionPath, 'dist/sluice.mjs');
  execFileSync(process.execPath, [rolldown, '-c', 'rolldown.config.mjs', '-o', bundle], {
    cwd: ROOT,
    stdio: 'pipe',
  });
  bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'gh'), GH);
  chmodSync(join(bin, 'gh'), 0o755);
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Writes down what it was asked, and what the comment says. */
const GH = `#!/bin/sh
printf '%s\\n' "$*" "token $GH_TOKEN" >"$HOME/gh"
for word; do file=$word; done
cat "$file" >>"$HOME/gh"
`;

const git = (cwd: string, ...words: string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...words], {
    cwd,
    encoding: 'utf8',
  }).trim();

function write(file: string, text: string): void {
  mkdirSync(dirname(join(origin, file)), { recursive: true });
  writeFileSync(join(origin, file), text);
}

let number = 0;

/** On the branch main: the shop, and what is expected of it. */
beforeEach(context => {
  if (!hasGit) return context.skip('there is no git here');
  origin = join(folder, `origin-${++number}`);
  workspace = join(folder, `workspace-${number}`);
  mkdirSync(origin);
  git(origin, 'init', '--quiet', '--initial-branch=main');
  for (const file of ['cluster.yaml', 'platform.yaml', 'policies.yaml'])
    write(
      file === 'policies.yaml' ? 'my policies/policies.yaml' : file,
      readFileSync(join(SHOP, file), 'utf8'),
    );
  write(
    'tests/shop.test.yaml',
    'title: The shop\nmanifests: [../cluster.yaml, "../my policies"]\nflows: [shop/web -> shop/db:5432 deny]\n',
  );
  commit('base');
});

const commit = (message: string) => {
  git(origin, 'add', '-A');
  git(origin, 'commit', '--quiet', '--allow-empty', '-m', message);
};

const INPUTS = {
  manifests: 'my policies\nnot there yet\n\n',
  tests: 'tests\n',
  with: 'cluster.yaml\n',
};

/** As actions/checkout leaves it: one commit, and an origin to fetch others from. */
function pullRequest(
  inputs: Partial<typeof INPUTS> = {},
): CompositeRun & { readonly comment: string | undefined } {
  const base = git(origin, 'rev-parse', 'HEAD~1');
  git(folder, 'clone', '--quiet', '--depth=1', `file://${origin}`, workspace);
  const temp = join(folder, `temp-${number}`);
  mkdirSync(temp);
  const path = [bin, dirname(process.execPath), process.env.PATH].join(':');
  const github = {
    'event.pull_request.base.sha': base,
    'event.pull_request.number': '17',
    repository: 'owner/shop',
    token: 'secret',
  };
  const run = runComposite(
    action,
    { inputs: { ...INPUTS, manifests: 'my policies', ...inputs }, github, actionPath, temp, workspace, path },
    ['Build Sluice'],
  );
  const gh = join(temp, 'gh');
  return { ...run, comment: existsSync(gh) ? readFileSync(gh, 'utf8') : undefined };
}

const steps = ({ ran }: CompositeRun) => ran.map(({ step, code }) => `${step} ${code}`);

test('a pull request that opens a connection is commented', () => {
  const policies = readFileSync(join(SHOP, 'policies.yaml'), 'utf8');
  write(
    'my policies/policies.yaml',
    policies.replace('- { protocol: TCP, port: 80 }', '- { protocol: TCP, port: 81 }'),
  );
  commit('another port');
  const run = pullRequest();
  expect(steps(run), JSON.stringify(run.ran)).toEqual(['Check 0', 'Test 0', 'Compare 0', 'Comment 0']);
  expect(run.outputs).toEqual({ changes: 'true' });
  expect(run.summary).toContain('TCP 81');
  expect(run.comment).toMatch(
    /^pr comment 17 --repo owner\/shop --edit-last --create-if-none --body-file \S+\ntoken secret\n### Connections that this pull request changes\n/,
  );
  expect(run.comment).toContain(run.summary);
  expect(git(workspace, 'worktree', 'list').split('\n')).toHaveLength(1);
});

test('one that changes nothing is not', () => {
  write('README.md', 'hello');
  commit('words');
  const run = pullRequest();
  expect(steps(run)).toEqual(['Check 0', 'Test 0', 'Compare 0']);
  expect([run.outputs, run.comment]).toEqual([{ changes: 'false' }, undefined]);
});

test('a folder that the base does not have is compared with nothing', () => {
  const policy =
    'apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: { name: p, namespace: kube-system }\nspec: { podSelector: {}, policyTypes: [Ingress] }\n';
  write('more/dns.yaml', policy);
  commit('dns');
  const run = pullRequest({ manifests: 'my policies\nmore\n' });
  expect(steps(run), JSON.stringify(run.ran)).toEqual(['Check 0', 'Test 0', 'Compare 0', 'Comment 0']);
  expect(run.comment).toContain('kube-system/coredns');
});

test('what is wrong with a manifest ends it, and is said', () => {
  write(
    'my policies/bad.yaml',
    'apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: { name: p }\nspec: { podSelector: 1 }\n',
  );
  commit('bad');
  const run = pullRequest();
  expect(steps(run)).toEqual(['Check 1']);
  expect(run.ran[0]!.output).toContain('bad.yaml:4');
});

test('one that mends what nobody could read passes, and nothing is compared', () => {
  write('my policies/bad.yaml', 'a: [');
  commit('bad');
  rmSync(join(origin, 'my policies/bad.yaml'));
  commit('mended');
  const run = pullRequest();
  expect(steps(run), JSON.stringify(run.ran)).toEqual(['Check 0', 'Test 0', 'Compare 0']);
  expect([run.outputs, run.comment]).toEqual([{ changes: '' }, undefined]);
  expect(run.summary).toContain('Nothing was compared');
});

test('policies without pods and workloads are not compared, which is said', () => {
  commit('again');
  const run = pullRequest({ with: '' });
  expect(steps(run).at(-1)).toBe('Compare 2');
  expect(run.ran.at(-1)!.output).toContain('neither side has a pod or a workload');
});

test('a test that fails ends it', () => {
  write(
    'tests/shop.test.yaml',
    'title: x\nmanifests: [../cluster.yaml, "../my policies"]\nflows: [shop/web -> shop/db:5432 allow]\n',
  );
  commit('wrong');
  expect(steps(pullRequest())).toEqual(['Check 0', 'Test 1']);
});

test('without tests and without a base it checks', () => {
  commit('again');
  const run = pullRequest({ tests: '', base: '' } as never);
  expect([steps(run), run.outputs]).toEqual([['Check 0'], { changes: '' }]);
});

test('no script holds an expression, and each variable that it takes is given to it', () => {
  for (const { run = '', env = {} } of action.runs.steps) {
    expect(run).not.toContain('${{ inputs');
    const given = [
      ...Object.keys(env),
      'GITHUB_ACTION_PATH',
      'GITHUB_OUTPUT',
      'GITHUB_STEP_SUMMARY',
      'GITHUB_REPOSITORY',
      'RUNNER_TEMP',
    ];
    const taken = [...run.matchAll(/\$\{?([A-Z_]+)\b/g)].map(([, name]) => name!);
    expect(taken.filter(name => !given.includes(name))).toEqual([]);
  }
});
