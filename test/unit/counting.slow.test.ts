/** What CI counts: the scripts themselves, in a tree whose commands are ours. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const ALL = 'cnp sonobuoy anp flannel own-1 own-2 netpol netpol-ipv6 removal-attach chart apiserver image';

let tree: string;

beforeEach(() => {
  tree = mkdtempSync(join(tmpdir(), 'sluice-counting-'));
  const files = ['lib.sh', 'conformance.sh', 'counttests.ts', 'suites', 'test'].map(
    name => `scripts/${name}`,
  );
  for (const file of [...files, '.ci/run']) cpSync(join(ROOT, file), join(tree, file));
  mkdirSync(join(tree, 'bin'));
  for (const folder of ['test/apiserver', 'test/chart', 'test/cluster/image'])
    mkdirSync(join(tree, folder), { recursive: true });
  command('bin/id', 'echo 0');
});

afterEach(() => rmSync(tree, { recursive: true, force: true }));

function command(path: string, text: string): void {
  writeFileSync(join(tree, path), `#!/usr/bin/env bash\n${text}\n`, { mode: 0o755 });
}

function run(path: string, ...words: string[]) {
  const PATH = `${join(tree, 'bin')}:${process.env.PATH}`;
  const env = { ...process.env, PATH, REPORTS: join(tree, 'reports') };
  const { status, stdout, stderr } = spawnSync(join(tree, path), words, { env, encoding: 'utf8' });
  return { status, stderr, lines: stdout.trim().split('\n') };
}

describe('scripts/suites', () => {
  /** `e2e`, `cluster`, the chart's and the image's in their place; each suite passes ten unless the text says otherwise. */
  function suites(e2e: string, words: readonly string[] = [], cluster = '') {
    command('scripts/e2e', `${e2e}\necho "10 passed, 0 failed"`);
    command('scripts/cluster', cluster);
    for (const alone of ['test/apiserver/run.sh', 'test/chart/run.sh', 'test/cluster/image/twice.sh'])
      command(alone, 'echo "10 passed, 0 failed"');
    const { status, stderr, lines } = run('scripts/suites', ...words);
    const rows = lines
      .slice(0, -1)
      .map(line => line.replace(/^(\S+:.*|\S+) +/, '$1 ').replace(/ +\d+ s$/, ''));
    return { status, stderr, rows: rows.sort(), total: lines.at(-1) };
  }
  // Of `timeout`, whose child it is, the parent: the shell that would write the row.
  const KILL = 'read -r _ _ _ parent _ </proc/$PPID/stat; kill -KILL $parent; exit 1';

  test('counts a row for each suite, and for the image where it is named', () => {
    expect(suites('')).toMatchObject({ status: 0, total: '110 passed, 0 failed' });
    expect(suites('', ALL.split(' '))).toMatchObject({
      status: 0,
      rows: ALL.split(' ')
        .sort()
        .map(name => `${name} 10 passed, 0 failed`),
      total: '120 passed, 0 failed',
    });
    expect(suites('', ['own', 'own-1'])).toMatchObject({
      rows: ['own-1 10 passed, 0 failed', 'own-2 10 passed, 0 failed'],
      status: 0,
    });
  });

  test('a suite whose shell is killed has failed by name, and so have those that would have followed it', () => {
    expect(suites(`[ "$*" != cnp ] || { ${KILL}; }`)).toMatchObject({
      status: 1,
      rows: [
        'anp 10 passed, 0 failed',
        'apiserver 10 passed, 0 failed',
        'chart 10 passed, 0 failed',
        'cnp 0 passed, 1 failed',
        'flannel 10 passed, 0 failed',
        'netpol 10 passed, 0 failed',
        'netpol-ipv6 10 passed, 0 failed',
        'own-1 10 passed, 0 failed',
        'own-2 10 passed, 0 failed',
        'removal-attach 10 passed, 0 failed',
        'sonobuoy 0 passed, 1 failed',
      ],
      total: '90 passed, 2 failed',
    });
  });

  test('short clusters are up beside the long ones, one after the other', () => {
    const calls = join(tree, 'calls');
    const own = `[ $SLUICE_CLUSTER != ci-b ] || for i in {1..600}; do [ -e ${tree}/removed ] && break; sleep 0.05; done`;
    const e2e = `[ "$SLUICE_CLUSTER" != ci-e ] || touch ${tree}/removed\n${own}; [ $SLUICE_CLUSTER != ci-b ] || [ -e ${tree}/removed ] || exit 1`;
    expect(suites(e2e, [], `echo "$1 $SLUICE_CLUSTER" >>${calls}`)).toMatchObject({ status: 0 });
    const third = readFileSync(calls, 'utf8')
      .split('\n')
      .filter(line => /ci-[cde]$/.test(line));
    const short = ['ci-c', 'ci-d', 'ci-e'];
    const after = third.slice(short.length); // what a run before may have left
    expect(after.slice(0, 6)).toEqual(short.flatMap(name => [`up ${name}`, `down ${name}`]));
  });

  test('a part of the specs suffices where no suite is named, for two of the suites', () => {
    const focus = join(tree, 'focus');
    const e2e = `[ -z "\${FOCUS-}" ] || echo "$1 $FOCUS" >>${focus}`;
    suites(e2e, ['sonobuoy', 'netpol-ipv6']);
    expect(existsSync(focus)).toBe(false);
    suites(e2e);
    const focused = readFileSync(focus, 'utf8').trim().split('\n').sort();
    expect(focused).toEqual([
      'netpol \\[sig-network\\] Netpol.*(default-deny|CIDR|except|[Ee]gress)',
      'sonobuoy \\[sig-network\\] Netpol.*(default-deny|API|SCTP)',
    ]);
  });

  test('two suites are on Flannel, and each is on the network that was asked for', () => {
    const calls = join(tree, 'calls');
    const ups = (...words: string[]) => {
      rmSync(calls, { force: true });
      suites('', words, `[ "$1" != up ] || { shift; echo "$SLUICE_CLUSTER $*" >>${calls}; }`);
      return readFileSync(calls, 'utf8').trim().split('\n').sort();
    };
    expect(ups('cnp', 'netpol', 'anp')).toEqual(['ci-a ', 'ci-c --cni flannel']);
    expect(ups('--cni', 'flannel', '--backend', 'host-gw', 'cnp', 'netpol', 'netpol-ipv6')).toEqual([
      'ci-a --cni flannel --backend host-gw',
      'ci-c --cni flannel --backend host-gw',
      'ci-d --ipv6-first --cni flannel --backend host-gw',
    ]);
  });

  test('a suite whose cluster does not come up has failed', () => {
    const cluster = '[ "$1 $SLUICE_CLUSTER" != "up ci-a" ]';
    expect(suites('', ['cnp', 'own-1'], cluster)).toMatchObject({
      status: 1,
      rows: ['cnp 0 passed, 1 failed', 'own-1 10 passed, 0 failed'],
    });
  });

  test.each([
    ['ends badly and counts no failure', 'echo "10 passed, 0 failed"; exit 3', '10 passed, 1 failed'],
    ['counts what failed', 'echo "7 passed, 3 failed"; exit 1', '7 passed, 3 failed'],
    ['counts nothing', 'exit 0', '0 passed, 1 failed'],
    ['passes nothing', 'echo "0 passed, 0 failed"; exit 0', '0 passed, 1 failed'],
  ])('a suite that %s', (_, e2e, total) => {
    expect(suites(e2e, ['cnp'])).toMatchObject({ status: 1, total });
  });

  test('what failed and what was unsteady is named above the last line', () => {
    const e2e = `echo '    --- FAIL: TestConformanceProfiles/One (1.2s)'
      echo 'unsteady, passed by itself: Two'`;
    expect(suites(e2e, ['cnp'])).toMatchObject({
      rows: expect.arrayContaining([
        'cnp: --- FAIL: TestConformanceProfiles/One (1.2s)',
        'cnp: unsteady, passed by itself: Two',
      ]),
    });
  });

  test.each(['cpn', 'netpol-', '', 'cnp own'])('refuses %j, and says which there are', name => {
    const { status, stderr, rows } = suites('', ['cnp', name]);
    expect([status, rows]).toEqual([2, []]);
    expect(stderr).toContain(`suites: there is no suite "${name}" (there are: ${ALL})`);
  });
});

describe('.ci/run', () => {
  test.each([
    [
      'both pass',
      'echo "5 passed, 0 failed, 2 skipped"',
      'echo "4 passed, 0 failed"',
      0,
      '9 passed, 0 failed, 2 skipped',
    ],
    [
      'one counts failures',
      'echo "5 passed, 0 failed"',
      'echo "3 passed, 1 failed"; exit 1',
      1,
      '8 passed, 1 failed',
    ],
    [
      'one ends before it counts',
      'echo "error TS2322"; exit 2',
      'echo "4 passed, 0 failed"',
      1,
      '4 passed, 1 failed',
    ],
    [
      'one ends badly after it counted',
      'echo "5 passed, 0 failed"; exit 1',
      'echo "4 passed, 0 failed"',
      1,
      '9 passed, 1 failed',
    ],
    ['one counts nothing', 'echo "5 passed, 0 failed"', 'exit 0', 1, '5 passed, 1 failed'],
    ['one is killed', 'kill -KILL $$', 'echo "4 passed, 0 failed"', 1, '4 passed, 1 failed'],
  ])('where %s', (_, first, second, status, total) => {
    const result = ci(first, second);
    expect([result.status, result.lines.at(-1)]).toEqual([status, total]);
  });

  test('what is ended counts as far as it came, and as failed', () => {
    const result = ci('echo "5 passed, 0 failed"', 'kill $PPID');
    expect([result.status, result.lines.at(-1)]).toEqual([1, '5 passed, 1 failed']);
  });

  test('what the suites need is built while the tests run', () => {
    const begun = `for i in {1..600}; do [ -e ${tree}/begun ] && break; sleep 0.05; done; [ -e ${tree}/begun ]`;
    const tests = `${begun} && echo "5 passed, 0 failed" && touch ${tree}/passed`;
    const ahead = `[ ! -e ${tree}/passed ] && touch ${tree}/begun`;
    expect(ci(tests, 'echo "4 passed, 0 failed"', ahead)).toMatchObject({ status: 0 });
  });

  test('what is still built when the suites begin has no lower priority than they have', () => {
    const priority = join(tree, 'priority');
    const ahead = `for i in {1..1200}; do [ -e ${tree}/asked ] && break; sleep 0.05; done; nice >${priority}; touch ${tree}/said`;
    const suites = `touch ${tree}/asked; until [ -e ${tree}/said ]; do sleep 0.05; done; echo "4 passed, 0 failed"`;
    expect(ci('echo "5 passed, 0 failed"', suites, ahead)).toMatchObject({ status: 0 });
    expect(readFileSync(priority, 'utf8').trim()).toBe('0');
  });

  test('what fails there counts nothing: the suites build it again', () => {
    const result = ci('echo "5 passed, 0 failed"', 'echo "4 passed, 0 failed"', 'exit 1');
    expect([result.status, result.lines.at(-1)]).toEqual([0, '9 passed, 0 failed']);
  });

  test('what does not end there is ended', () => {
    const pid = join(tree, 'pid');
    const begun = `until [ -s ${pid} ]; do sleep 0.05; done`;
    const tests = `${begun}; echo "5 passed, 0 failed"`;
    const result = ci(tests, 'echo "4 passed, 0 failed"', `echo $$ >${pid}; exec sleep 600`);
    expect(result.status).toBe(0);
    expect(existsSync(`/proc/${readFileSync(pid, 'utf8').trim()}`)).toBe(false);
  });

  function ci(first: string, second: string, ahead = '') {
    command('scripts/test', first);
    command('scripts/suites', second);
    command('test/cluster/ahead.sh', ahead);
    return run('.ci/run');
  }
});

describe('pass_tests', () => {
  interface Told {
    readonly file: string;
    /** Names of tests, and how each ended; none where the file could not be run. */
    readonly tests: Readonly<Record<string, string>>;
  }
  const passes = (file: string): Told => ({ file, tests: { holds: 'passed' } });
  const fails = (file: string): Told => ({ file, tests: { holds: 'failed', 'holds too': 'passed' } });
  const breaks = (file: string): Told => ({ file, tests: {} });

  function report(files: readonly Told[]): string {
    const testResults = files.map(({ file, tests }) => {
      const assertionResults = Object.entries(tests).map(([fullName, status]) => ({
        fullName,
        status,
        failureMessages: status === 'failed' ? ['expected 1 to be 2\n    at line 3'] : [],
      }));
      const good = assertionResults.length > 0 && assertionResults.every(test => test.status !== 'failed');
      return {
        name: join(tree, file),
        status: good ? 'passed' : 'failed',
        message: 'no such module',
        assertionResults,
      };
    });
    return JSON.stringify({ testResults });
  }

  /** What a vitest comes to that reports this, run after run, and ends as its report does. */
  function passTests(runs: readonly (readonly Told[])[], chosen = '') {
    for (const [index, files] of runs.entries()) writeFileSync(join(tree, `run${index}`), report(files));
    command(
      'bin/vitest',
      `echo "$@" >>${tree}/asked
       n=$(($(wc -l <${tree}/asked) - 1))
       for word; do case $word in --outputFile.json=*) cp ${tree}/run$n "\${word#*=}" ;; esac; done
       ! grep -q '"failed"' ${tree}/run$n`,
    );
    command(
      'scripts/passes',
      `set -euo pipefail\nhere=${tree}\n. ${tree}/scripts/lib.sh\nchosen=(${chosen})\npass_tests ${tree}/report vitest run`,
    );
    const { status, lines } = run('scripts/passes');
    const asked = readFileSync(join(tree, 'asked'), 'utf8').trim().split('\n');
    return { status, total: lines.at(-1), before: lines.slice(0, -1), asked };
  }

  test('what passes is run once', () => {
    const { asked, ...came } = passTests([[passes('a'), passes('b')]], '"b c" -t d');
    expect(came).toEqual({ status: 0, total: '2 passed, 0 failed', before: [] });
    expect(asked).toEqual([expect.stringMatching(/^run .*report b c -t d$/)]);
  });

  test.each([
    ['a test', fails('b'), 'b: holds: expected 1 to be 2'],
    ['a file', breaks('b'), 'b: no such module'],
  ])('%s that fails once is run by itself, and listed', (_, first, listed) => {
    const { asked, ...came } = passTests([[passes('a'), first], [passes('b')]], 'a b');
    expect(came).toEqual({
      status: 0,
      total: '2 passed, 0 failed',
      before: [expect.stringMatching(`^unsteady, passed by itself: .*${listed}$`)],
    });
    expect(asked[1]).toMatch(new RegExp(`again ${join(tree, 'b')}$`));
  });

  test('what fails twice has failed, and what failed beside it is listed', () => {
    const came = passTests([
      [passes('a'), fails('b'), fails('c')],
      [fails('b'), passes('c')],
    ]);
    expect(came).toMatchObject({ status: 1, total: '3 passed, 1 failed' });
    expect(came.before).toEqual([expect.stringContaining('c: holds')]);
  });

  test('more than three files are no chance', () => {
    const came = passTests([['a', 'b', 'c', 'd'].map(fails)]);
    expect(came).toMatchObject({ status: 1, total: '4 passed, 4 failed', before: [] });
    expect(came.asked).toHaveLength(1);
  });

  test('the slowest are listed, 25 at most', () => {
    const times = Array.from({ length: 30 }, (_, n) => n * 100);
    const assertionResults = times.map(duration => ({ fullName: `waits ${duration}`, duration }));
    const told = join(tree, 'told');
    writeFileSync(told, JSON.stringify({ testResults: [{ name: join(tree, 'a'), assertionResults }] }));
    const words = [join(tree, 'scripts/counttests.ts'), 'slowest', told];
    const { stdout } = spawnSync(process.execPath, words, { cwd: tree, encoding: 'utf8' });
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(25);
    expect([lines[0], lines[24]]).toEqual(['   2.9 s  a: waits 2900', '   0.5 s  a: waits 500']);
  });

  test.each([
    [
      'skips',
      [{ file: 'a', tests: { holds: 'passed', waits: 'skipped' } }],
      0,
      '1 passed, 0 failed, 1 skipped',
    ],
    ['has no test', [], 1, '0 passed, 0 failed'],
  ])('a run that %s', (_, files, status, total) => {
    expect(passTests([files])).toMatchObject({ status, total });
  });
});

describe('scripts/test', () => {
  const PROJECTS = ['unit', 'unit-alone', 'slow', 'property', 'page', 'kernel'];
  const ended = (project: string, status = 'passed', skipped?: string) => ({
    name: join(tree, `${project}.test.ts`),
    status: 'passed',
    assertionResults: [{ fullName: `${project} ${status}`, status, meta: { project, skipped } }],
  });

  /** What it comes to where everything is installed and built, and vitest reports this. */
  function testWith(testResults: readonly object[], ...words: string[]) {
    writeFileSync(join(tree, 'told'), JSON.stringify({ testResults }));
    for (const folder of ['dist', 'node_modules']) mkdirSync(join(tree, folder));
    for (const file of ['package-lock.json', 'node_modules/.sluice-installed'])
      writeFileSync(join(tree, file), '{}');
    for (const name of ['tsc', 'biome', 'knip']) command(`bin/${name}`, '');
    command(
      'bin/npm',
      `[[ $* = *build ]] && exit\necho "npm $*, $SLUICE_LONG" >>${tree}/others\necho "3 passed, 0 failed"`,
    );
    command('scripts/vm', `echo "vm $*" >>${tree}/others\necho "7 passed, 1 failed"\nexit 1`);
    command(
      'bin/vitest',
      `echo "$@, $SLUICE_LONG, $SLUICE_SEED" >${tree}/asked
       for word; do case $word in --outputFile.json=*) cp ${tree}/told "\${word#*=}" ;; esac; done`,
    );
    const { status, lines } = run('scripts/test', ...words);
    return { status, lines, asked: readFileSync(join(tree, 'asked'), 'utf8') };
  }

  test('passes where each project passed a test', () => {
    const came = testWith(PROJECTS.map(project => ended(project)));
    expect(came).toMatchObject({ status: 0, lines: ['6 passed, 0 failed'] });
    for (const project of PROJECTS) expect(came.asked).toContain(`--project=${project} `);
  });

  test('passes one project where one is asked for', () => {
    const came = testWith([ended('kernel')], 'kernel');
    expect(came).toMatchObject({ status: 0, lines: ['1 passed, 0 failed'] });
    expect(came.asked).not.toContain('--project=unit');
  });

  test('--long adds planted faults, fuzzing and other kernels, and counts all', () => {
    process.env.SLUICE_SEED = '77';
    const came = testWith(
      PROJECTS.map(project => ended(project)),
      '--long',
    );
    delete process.env.SLUICE_SEED;
    expect([came.status, came.lines.at(-1)]).toEqual([1, '22 passed, 1 failed']);
    expect(came.asked).toMatch(/, 1, 77\n$/);
    expect(readFileSync(join(tree, 'others'), 'utf8').split('\n')).toEqual([
      expect.stringMatching(/^npm run --silent mutants -- --page \S+\/reports\/planted-faults\.md, 1$/),
      'npm run --silent fuzz -- --seconds 900 --seed 77, 1',
      'npm run --silent fuzz:frames -- --seconds 600 --seed 77, 1',
      expect.stringMatching(/^vm test /),
      '',
    ]);
  });

  test.each(['unit', 'kernel'])('fails where no test of %s ran', missing => {
    const came = testWith(PROJECTS.filter(project => project !== missing).map(project => ended(project)));
    expect(came).toMatchObject({
      status: 1,
      lines: [`no test of the project ${missing} passed`, '5 passed, 1 failed'],
    });
  });

  test('fails where a test was skipped and nothing says why, and passes where something does', () => {
    const all = PROJECTS.map(project => ended(project));
    expect(testWith([...all, ended('kernel', 'skipped', 'there is no go here')])).toMatchObject({
      status: 0,
      lines: ['6 passed, 0 failed, 1 skipped'],
    });
    for (const folder of ['dist', 'node_modules']) rmSync(join(tree, folder), { recursive: true });
    expect(testWith([...all, ended('kernel', 'skipped')])).toMatchObject({
      status: 1,
      lines: [
        expect.stringMatching(/^skipped, and nothing says why: .*kernel\.test\.ts: kernel skipped$/),
        '6 passed, 1 failed, 1 skipped',
      ],
    });
  });

  test('fails where something is missing that it should have installed', () => {
    command('bin/apt-get', '');
    command('bin/flock', 'shift; exec "$@"');
    command(
      'scripts/needs',
      `set -euo pipefail\nhere=${tree}\n. ${tree}/scripts/lib.sh\nneed_packages cp:coreutils sluice-absent:absent\necho reached`,
    );
    const { status, stderr, lines } = run('scripts/needs');
    expect([status, lines]).toEqual([1, ['']]);
    expect(stderr).toContain('needs: sluice-absent is still missing, although absent was installed');
  });
});

/** The reporter of scripts/test, in a vitest of its own. */
test('what was skipped is reported with its reason and its project', () => {
  writeFileSync(
    join(tree, 'waits.test.ts'),
    `import { test } from '${join(ROOT, 'node_modules/vitest/dist/index.js')}';
     test('holds', () => {});
     test('waits', context => context.skip('there is no go here'));
     test.skip('is silent', () => {});`,
  );
  writeFileSync(join(tree, 'vitest.config.ts'), "export default { test: { name: 'ours' } };");
  cpSync(join(ROOT, 'scripts/annotate.ts'), join(tree, 'annotate.ts'));
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const words = ['run', '--root', tree, `--reporter=${join(tree, 'annotate.ts')}`, '--reporter=json'];
  const { stdout } = spawnSync(process.execPath, [vitest, ...words], { encoding: 'utf8', cwd: tree });
  const { testResults } = JSON.parse(stdout);
  expect(testResults[0].assertionResults).toMatchObject([
    { fullName: 'holds', status: 'passed', meta: { project: 'ours' } },
    { fullName: 'waits', status: 'skipped', meta: { project: 'ours', skipped: 'there is no go here' } },
    { fullName: 'is silent', status: 'skipped', meta: { project: 'ours' } },
  ]);
});

describe('conformance_again', () => {
  const ended = (tests: Readonly<Record<string, string>>) =>
    Object.entries(tests)
      .map(([name, how]) => `    --- ${how}: TestConformanceProfiles/${name} (1.20s)`)
      .join('\n');

  /** What a suite comes to that left this log, and the second time adds that, and ends so. */
  function again(log: string, next = '', status = 0) {
    const path = join(tree, 'log');
    writeFileSync(path, `${log}\n`);
    writeFileSync(join(tree, 'next'), `${next}\n`);
    command('bin/suite', `echo "$@" >>${tree}/asked; cat ${tree}/next; exit ${status}`);
    command(
      'scripts/passes',
      `set -euo pipefail
       here=${tree}
       . ${tree}/scripts/lib.sh
       . ${tree}/scripts/conformance.sh
       conformance_again ${path} suite -v && came=passed || came=failed
       count_conformance ${path}
       echo $came`,
    );
    const { lines } = run('scripts/passes');
    const asked = join(tree, 'asked');
    return {
      came: lines.at(-1),
      count: lines.at(-2),
      told: lines.slice(0, -2),
      asked: existsSync(asked) ? readFileSync(asked, 'utf8').trim() : undefined,
    };
  }

  test('a test that fails once is run by itself, and listed with what it said', () => {
    const log = `${ended({ A: 'PASS', B: 'FAIL', C: 'FAIL' })}\n      Error:      \tCondition never satisfied`;
    expect(again(log, ended({ B: 'PASS', C: 'PASS' }))).toEqual({
      came: 'passed',
      count: '3 passed, 0 failed',
      told: [
        'unsteady, passed by itself: B',
        'unsteady, passed by itself: C',
        expect.stringContaining('Condition never satisfied'),
      ],
      asked: '-v -test.run=^TestConformanceProfiles$/^(B|C)$',
    });
  });

  test('what fails twice has failed', () => {
    const log = ended({ A: 'PASS', B: 'FAIL', C: 'FAIL' });
    expect(again(log, ended({ B: 'FAIL', C: 'PASS' }), 1)).toMatchObject({
      came: 'failed',
      count: '2 passed, 1 failed',
      told: [],
    });
  });

  test.each([
    ['more than three', ended({ A: 'FAIL', B: 'FAIL', C: 'FAIL', D: 'FAIL' })],
    ['no test of it', ended({ A: 'PASS' })],
    [
      'one that ended before the others had begun',
      `panic: test timed out after 10m0s\n${ended({ A: 'FAIL' })}`,
    ],
  ])('where %s failed nothing is run again', (_, log) => {
    expect(again(log, ended({ A: 'PASS' }))).toMatchObject({ came: 'failed', asked: undefined });
  });
});
