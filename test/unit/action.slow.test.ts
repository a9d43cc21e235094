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
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { SRC } from '../support/importgraph.ts';
import { type CompositeRun, readAction, runComposite } from '../support/questions/composite.ts';

const ROOT = join(SRC, '..');
const SHOP = join(ROOT, 'examples/shop');
const action = readAction(join(ROOT, 'action.yml'));
const hasGit = ['git', 'jq'].every(tool => spawnSync(tool, ['--version']).status === 0);

let folder: string;
let actionPath: string;
let origin: string;
let workspace: string;
let bin: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-action-'));
  actionPath = join(folder, 'action');
  mkdirSync(actionPath);
  for (const file of ['sluice', 'scripts/links-stay', 'scripts/lib.sh'])
    cpSync(join(ROOT, file), join(actionPath, file), { recursive: true });
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

/**
 * The comments of a pull request, in the file $HOME/comments.json. It filters by jq itself, as gh does, and writes down
 * each of its calls.
 */
const GH = `#!/usr/bin/env bash
set -euo pipefail
words=("$@")
printf '%s\\n' "$1 $2 $3, token $GH_TOKEN" >>"$HOME/gh"
comments=$HOME/comments.json
[ -e "$comments" ] || echo '[]' >"$comments"
at() { for ((i = 0; i < \${#words[@]}; i++)); do [ "\${words[i]}" != "$1" ] || echo "\${words[i + 1]}"; done; }
field() { for word in "\${words[@]}"; do [ "\${word%%=*}" != "$1" ] || printf %s "\${word#*=}"; done; }
put() { jq "$@" "$comments" >"$comments.new" && mv "$comments.new" "$comments"; }
if [ "$1 $2" = "pr comment" ]; then
  put --rawfile body "$(at --body-file)" '. + [{ id: "new", viewerDidAuthor: true, body: $body }]'
elif [[ $(field query) == mutation* ]]; then
  file=$(field body)
  put --arg id "$(field id)" --rawfile body "\${file#@}" 'map(if .id == $id then .body = $body else . end)'
else
  [ "$(field owner)/$(field name)#$(field number)" = "owner/shop#17" ]
  jq -r "{ data: { repository: { pullRequest: { comments: { nodes: . } } } } } | $(at --jq)" "$comments"
fi
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
  if (!hasGit) return context.skip('there is no git or no jq here');
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

interface Comment {
  readonly id: string;
  readonly viewerDidAuthor: boolean;
  readonly body: string;
}

/** As actions/checkout leaves it: one commit, and an origin to fetch others from. */
function pullRequest(
  inputs: Partial<typeof INPUTS> = {},
  comments: readonly Comment[] = [],
  before = () => {},
): CompositeRun & { readonly comments: readonly Comment[]; readonly asked: string } {
  const base = git(origin, 'rev-parse', 'HEAD~1');
  git(folder, 'clone', '--quiet', '--depth=1', `file://${origin}`, workspace);
  const temp = join(folder, `temp-${number}`);
  rmSync(temp, { recursive: true, force: true });
  mkdirSync(temp);
  before();
  writeFileSync(join(temp, 'comments.json'), JSON.stringify(comments));
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
  return {
    ...run,
    comments: JSON.parse(readFileSync(join(temp, 'comments.json'), 'utf8')),
    asked: existsSync(gh) ? readFileSync(gh, 'utf8') : '',
  };
}

function openPort(): void {
  const policies = readFileSync(join(SHOP, 'policies.yaml'), 'utf8');
  write(
    'my policies/policies.yaml',
    policies.replace('- { protocol: TCP, port: 80 }', '- { protocol: TCP, port: 81 }'),
  );
  commit('another port');
}

const steps = ({ ran }: CompositeRun) => ran.map(({ step, code }) => `${step} ${code}`);

test('a pull request that opens a connection is commented', () => {
  openPort();
  const run = pullRequest();
  expect(steps(run), JSON.stringify(run.ran)).toEqual(['Check 0', 'Test 0', 'Compare 0', 'Comment 0']);
  expect(run.outputs).toEqual({ changes: 'true' });
  expect(run.summary).toContain('TCP 81');
  expect(run.asked).toBe('api graphql --paginate, token secret\npr comment 17, token secret\n');
  expect(run.comments).toHaveLength(1);
  expect(run.comments[0]!.body).toMatch(
    /^<!-- sluice [0-9a-f]{16} -->\n### Connections that this pull request changes\n/,
  );
  expect(run.comments[0]!.body).toContain(run.summary);
  expect(git(workspace, 'worktree', 'list').split('\n')).toHaveLength(1);
});

test('its next run writes over its own comment, and over no other', () => {
  openPort();
  const [{ body }] = pullRequest().comments as [Comment];
  const stale = `${body.split('\n')[0]}\nof the run before`;
  const others: readonly Comment[] = [
    { id: 'lint', viewerDidAuthor: true, body: 'by another workflow with the same token' },
    { id: 'quote', viewerDidAuthor: true, body: `somebody said:\n${stale}` },
    { id: 'else', viewerDidAuthor: true, body: stale.replace(/[0-9a-f]{16}/, '0'.repeat(16)) },
    { id: 'forged', viewerDidAuthor: false, body: stale },
  ];
  rmSync(workspace, { recursive: true });
  const ours = { id: 'ours', viewerDidAuthor: true, body: stale };
  const run = pullRequest({}, [...others, ours, { ...others[0]!, id: 'last' }]);
  expect(steps(run).at(-1)).toBe('Comment 0');
  expect(run.comments).toEqual([...others, { ...ours, body }, { ...others[0]!, id: 'last' }]);
});

test('one that changes nothing is not', () => {
  write('README.md', 'hello');
  commit('words');
  const run = pullRequest();
  expect(steps(run)).toEqual(['Check 0', 'Test 0', 'Compare 0']);
  expect([run.outputs, run.comments]).toEqual([{ changes: 'false' }, []]);
});

test('what an earlier use in the same job has left is no part of the comparison', () => {
  openPort();
  const first = pullRequest();
  const leave = (side: string) =>
    cpSync(SHOP, join(folder, `temp-${number}`, side, '9'), { recursive: true });
  rmSync(workspace, { recursive: true });
  const second = pullRequest({}, [], () => ['sluice-old', 'sluice-new'].forEach(leave));
  expect(second.summary).toBe(first.summary);
});

test('a folder that the base does not have is compared with nothing', () => {
  const policy =
    'apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: { name: p, namespace: kube-system }\nspec: { podSelector: {}, policyTypes: [Ingress] }\n';
  write('more/dns.yaml', policy);
  commit('dns');
  const run = pullRequest({ manifests: 'my policies\nmore\n' });
  expect(steps(run), JSON.stringify(run.ran)).toEqual(['Check 0', 'Test 0', 'Compare 0', 'Comment 0']);
  expect(run.comments[0]!.body).toContain('kube-system/coredns');
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
  write('my policies/bad.yaml', 'apiVersion: v1\nkind: [');
  commit('bad');
  rmSync(join(origin, 'my policies/bad.yaml'));
  commit('mended');
  const run = pullRequest();
  expect(steps(run), JSON.stringify(run.ran)).toEqual(['Check 0', 'Test 0', 'Compare 0']);
  expect([run.outputs, run.comments]).toEqual([{ changes: '' }, []]);
  expect(run.summary).toContain('Nothing was compared');
});

test('policies without pods and workloads are not compared, which is said', () => {
  commit('again');
  const run = pullRequest({ with: '' });
  expect(steps(run).at(-1)).toBe('Compare 2');
  expect(run.ran.at(-1)!.output).toContain('neither side has a pod or a workload');
});

describe('links of a pull request', () => {
  const link = (path: string, target: string) => {
    mkdirSync(dirname(join(origin, path)), { recursive: true });
    symlinkSync(target, join(origin, path));
  };

  test.each([
    ['to a file of the machine', 'my policies/a.yaml', '/etc/hostname', 'out of'],
    ['to its root', 'my policies/a', '/', 'out of'],
    ['to a device', 'my policies/a.yaml', '/dev/zero', 'out of'],
    ['to the folder above', 'my policies/a', '../..', 'out of'],
    ['into .git', 'my policies/a.yaml', '../.git/config', 'into .git'],
    ['to nothing', 'my policies/a.yaml', 'b.yaml', 'nowhere'],
    ['to its own folder', 'my policies/a', '.', 'to a folder that is there already'],
    ['beside what is compared', 'tests/a.yaml', '/etc/hostname', 'out of'],
    ['with a command for the runner in its name', 'my policies/a\n::stop-commands::x', '/', 'out of'],
  ])('%s are refused with a sentence', (_, path, target, where) => {
    link(path, target);
    commit('a link');
    const run = pullRequest();
    expect(steps(run)).toEqual(['Check 1']);
    const { output } = run.ran[0]!;
    expect(output.trim().split('\n')).toHaveLength(1);
    expect(output).toMatch(/^::error::\S.* is a link that leads /);
    expect(output).toContain(`leads ${where}`);
  });

  test('by way of others out of the checkout are refused', () => {
    link('my policies/more', '../other');
    link('other/deep/out', '/etc');
    commit('two links');
    const run = pullRequest();
    expect(steps(run)).toEqual(['Check 1']);
    expect(run.ran[0]!.output).toContain('leads out of');
  });

  test('that stay within it are followed', () => {
    openPort();
    link('my policies/platform.yaml', '../platform.yaml');
    link('manifests', 'my policies');
    commit('links');
    const run = pullRequest({ manifests: 'manifests\n' });
    expect(steps(run), JSON.stringify(run.ran)).toEqual(['Check 0', 'Test 0', 'Compare 0', 'Comment 0']);
  });

  test('of the base that led out and are gone now are no reason to stop, and nothing is compared', () => {
    link('my policies/a.yaml', '/etc/hostname');
    commit('a link');
    rmSync(join(origin, 'my policies/a.yaml'));
    commit('without it');
    const run = pullRequest();
    expect(steps(run), JSON.stringify(run.ran)).toEqual(['Check 0', 'Test 0', 'Compare 0']);
    expect(run.outputs).toEqual({ changes: '' });
    expect(run.summary).toContain('Nothing was compared');
  });
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
      'GITHUB_WORKSPACE',
      'GITHUB_WORKFLOW',
      'GITHUB_JOB',
      'RUNNER_TEMP',
    ];
    const taken = [...run.matchAll(/\$\{?([A-Z_]+)\b/g)].map(([, name]) => name!);
    expect(taken.filter(name => !given.includes(name))).toEqual([]);
  }
});
