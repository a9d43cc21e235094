/** What GitHub runs in the repository's name: nothing movable, and what may write runs nothing of the repository. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = '.github/workflows';
const workflows = readdirSync(join(ROOT, FOLDER)).map(file => join(FOLDER, file));

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly environment?: string;
  readonly steps: readonly Step[];
}

interface Workflow {
  readonly permissions?: Readonly<Record<string, string>> | string;
  readonly jobs: Readonly<Record<string, Job>>;
}

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const jobs = workflows.flatMap(file =>
  Object.entries((parse(read(file)) as Workflow).jobs).map(([name, job]) => ({
    name: `${file} ${name}`,
    job,
  })),
);
/** What signs, pushes or changes the repository; to comment on a pull request is no such right. */
const isPrivileged = ({ permissions = {} }: Job) =>
  Object.entries(permissions).some(([right, level]) => level === 'write' && right !== 'pull-requests');

const PINNED = /^(\.\/\S*|[\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/;

test.each([...workflows, 'action.yml'])(
  '%s names each action of others by the hash of its commit, and its version beside',
  file => {
    const used = [...read(file).matchAll(/^\s*(?:- )?uses:\s*(.*)$/gm)].map(([, what]) => what!.trim());
    expect(used.length).toBeGreaterThan(0);
    expect(used.filter(what => !PINNED.test(what))).toEqual([]);
  },
);

test('one action has one version', () => {
  const used = [...workflows, 'action.yml'].flatMap(file =>
    [...read(file).matchAll(/uses:\s*(\S+)@(\S+ # \S+)/g)].map(([, action, version]) => [action!, version!]),
  );
  const versions = Map.groupBy(used, ([action]) => action);
  for (const [action, found] of versions) expect(new Set(found.map(([, at]) => at)).size, action).toBe(1);
});

test.each(workflows)('%s gives no job a right to write that the job does not ask for', file => {
  const { permissions } = parse(read(file)) as Workflow;
  expect(permissions).toBeTypeOf('object');
  expect(Object.values(permissions as object).filter(level => level !== 'read')).toEqual([]);
});

test.each(jobs)('$name leaves no token in the checkout', ({ job }) => {
  for (const { uses = '', with: inputs } of job.steps)
    if (uses.startsWith('actions/checkout@')) expect(inputs).toMatchObject({ 'persist-credentials': false });
});

describe('a job that may sign or push', () => {
  const privileged = jobs.filter(({ job }) => isPrivileged(job));

  test('is there, and is held back by an environment', () => {
    expect(privileged.map(({ name }) => name)).toEqual(['.github/workflows/release.yaml publish']);
    for (const { job } of privileged) expect(job.environment).toBe('release');
  });

  test('has no checkout, runs no file and builds nothing', () => {
    for (const { job } of privileged)
      for (const { uses = '', run = '' } of job.steps) {
        expect(uses).not.toMatch(/^\.|checkout|setup-|build-push/);
        // A package that is published as a file, without its scripts, is only sent.
        const sent = run.replace(/^npm publish \S+\.tgz --ignore-scripts (--[a-z-]+( public)? ?)*$/, '');
        expect(sent).not.toMatch(
          /(^|[\s;&|(])(\.\/|scripts\/|npm|npx|node|make|go|docker (build|run)|sh|bash|curl|wget)(\s|$)/m,
        );
        expect(run).not.toContain('${{');
      }
  });
});
