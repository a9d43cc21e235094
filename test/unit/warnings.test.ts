/** Each kind of warning has a bad and a good example, which docs/check.md shows; what is well is not warned of. */
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { lint } from '../../src/answers/lint/lint.ts';
import { fixText } from '../../src/inputs/files/fixtext.ts';
import { ManifestCollector } from '../../src/inputs/files/load.ts';
import { type Problem, problemNote, problemText, WARNING_CODES } from '../../src/model/problem.ts';

const ROOT = join(import.meta.dirname, '../..');
const FIXTURES = join(ROOT, 'test/fixtures/warnings');

interface Example {
  readonly code: string;
  /** What is warned of, and why. */
  readonly text: string;
  /** Manifests that both examples have. */
  readonly given?: string;
  readonly bad: string;
  readonly good: string;
}

const examples = WARNING_CODES.map((code): Example => {
  return { code, ...parse(readFileSync(join(FIXTURES, `${code}.yaml`), 'utf8')) };
});

function problemsOf(...texts: readonly (string | undefined)[]): readonly Problem[] {
  const collector = new ManifestCollector({ allDocuments: true });
  const file = 'web.yaml';
  const text = texts.filter(each => each !== undefined).join('---\n');
  collector.put(file, collector.read(text, file));
  return collector.checked(lint).problems;
}

function codesOf(problems: readonly Problem[]): string[] {
  return [
    ...new Set(problems.map(({ severity, code = 'object' }) => (severity === 'error' ? 'error' : code))),
  ];
}

test('every kind of warning has an example, and every example is of a kind', () => {
  expect(readdirSync(FIXTURES).sort()).toEqual(WARNING_CODES.map(code => `${code}.yaml`).sort());
});

test.each(examples)('$code: the bad example has this warning alone, and the good one none', example => {
  const { code, given, bad, good } = example;
  const problems = problemsOf(given, bad);
  expect(codesOf(problems)).toEqual([code]);
  expect(problems.every(({ line }) => line !== undefined)).toBe(true);
  expect(problemsOf(given, good).map(problemText)).toEqual([]);
});

/** Edits that --fix makes. */
const FIXED = ['service-port', 'legacy-address', 'no-dns', 'dns-anyone'];

test.each(examples)(
  '$code: what --fix makes of the bad example is the good one, if it makes something',
  ({ code, given, bad, good }) => {
    const fixes = problemsOf(given, bad).flatMap(({ object = '', fix }) =>
      fix === undefined ? [] : [{ object, fix }],
    );
    expect(fixes.length > 0).toBe(FIXED.includes(code));
    const { text, made } = fixText(bad, fixes);
    expect(made).toHaveLength(fixes.length);
    if (fixes.length > 0) expect(parse(text)).toEqual(parse(good));
  },
);

test('docs/check.md shows the examples', async () => {
  await expect(page()).toMatchFileSnapshot(join(ROOT, 'docs/check.md'));
});

function page(): string {
  const rows = examples.map(({ code, text }) => `| [\`${code}\`](#${code}) | ${firstSentence(text)} |`);
  return [HEAD, '| code | what |\n|---|---|', ...rows, '', ...examples.map(sectionOf)].join('\n');
}

const HEAD = `# Warnings of \`sluice check\`

\`sluice check PATH…\` lists what is wrong with manifests, by file, line, object and field, and what happens because of it. All paths
together are one cluster. An **error** is what the API server would refuse, or Sluice cannot read. A **warning** is what may not mean what
its author believes; no warning changes a verdict, or what is enforced.

- \`--strict\`: warnings are failures too.
- \`--each\`: each path is a cluster of its own, as in \`sluice check --each apps/*\`.
- \`--fix\` edits the files where a warning has one fix: ${FIXED.map(code => `\`${code}\``).join(', ')}.
  Nothing outside of the paths that are given is written, and a note names each file that is left as it is.
- \`--accept CODE\` leaves out a kind of warning, and \`--accept 'CODE:NetworkPolicy shop/web'\` one of an object.
- \`--render\` renders charts with the helm of your PATH, and kustomizations that no other one is made of with kustomize, or
  \`kubectl kustomize\` where there is none. What they come to is read in place of their files, and two overlays of one base are two folders
  with the same objects: give one of them. They get half a minute each and two minutes together, 4 GiB of memory, and may print 64 MiB. On
  Linux, where users may have namespaces, they have no network, and see the repository that the path is in (the folder with \`.git\`,
  or else the path itself) and the system's programs and libraries alone; elsewhere charts are rendered on a copy, and kustomizations are not.
- \`-o junit\` and \`-o sarif\` are for CI.

A path may be the root of a repository. The last line counts what was read, and what was left out: files without a Kubernetes object,
objects that no answer needs (such as CustomResourceDefinitions, Secrets and ConfigMaps), patches of kustomizations, \`node_modules\`, and
what a \`.gitignore\` at the path or below it names (its first 2,000 lines, of at most 1,024 characters). A manifest that a \`.gitignore\`
or a kustomization leaves out and that mentions a policy is named in a note of every answer; in ignored folders the first 1,000 files
are looked at. A chart that is not rendered is named once. A file with an object is a manifest, and all of it has to be one. Of an object
in files of several folders the first counts, and where they differ that is noted; in one folder it is an error.

Warnings are about what the manifests say: a namespace of which they hold no pod and no workload is not judged. \`unread-rules\`
and \`object\` are also Events of the policy in a cluster.

The examples are test fixtures (\`test/fixtures/warnings\`): the bad one has the warning and no other, the good one has none.
\`vitest run --project unit test/unit/warnings.test.ts -u\` writes this page.
`;

function firstSentence(text: string): string {
  return text
    .replaceAll('\n', ' ')
    .match(/^.*?[.:](?= |$)/)![0]
    .replace(/:$/, '.');
}

function sectionOf({ code, text, given, bad, good }: Example): string {
  const found = problemsOf(given, bad).map(problem => `${problem.object}: ${problemNote(problem)}`);
  const block = (name: string, yaml: string) => `${name}:\n\`\`\`yaml\n${yaml}\`\`\`\n`;
  return [
    `## ${code}\n${text.trimEnd()}\n`,
    ...(given === undefined ? [] : [block('Beside', given)]),
    block('Bad', bad),
    ...found.map(each => `> warning[${code}]: ${each}\n`),
    block('Good', good),
  ].join('\n');
}

/** A scenario, with its manifests at its beginning. */
function scenarioAt(path: string): { readonly title: string; readonly items: readonly unknown[] } {
  const {
    title,
    include = [],
    manifests = [],
  } = documents(path)[0] as {
    title: string;
    include?: string[];
    manifests?: unknown[];
  };
  return { title, items: [...include.flatMap(each => documents(join(dirname(path), each))), ...manifests] };
}

function documents(path: string): unknown[] {
  return parseAllDocuments(readFileSync(path, 'utf8'), { merge: true }).map(document => document.toJS());
}

/** How the title of a scenario names a mistake of its manifests. Mistakes that are not here are in none of them. */
const NAMED_BY: Readonly<Record<string, RegExp>> = {
  'covered-rule': /\bcover|\bbefore\b|\bskips\b|order of the rules/,
  'empty-peer': /nobody|no namespace/,
  'empty-subject': /nobody|no namespace/,
  'equal-priority': /priority/,
  'legacy-address': /old API servers/,
  'missing-namespace': /namespace that is not there/,
  'no-address': /without an address/,
  'port-name': /named port|A name that the pod does not know/,
  'service-address': /Service/,
  'unread-rules': /policyTypes does not name/,
  object: /reported/,
};

test('the manifests of a scenario have no warning that its title does not name', () => {
  const found = globSync('test/scenarios/**/*.yaml', { cwd: ROOT })
    .sort()
    .flatMap(file => {
      const { title, items } = scenarioAt(join(ROOT, file));
      const codes = codesOf(problemsOf(JSON.stringify({ apiVersion: 'v1', kind: 'List', items })));
      return codes
        .filter(code => code !== 'error')
        .map(code => ({ code, isNamed: NAMED_BY[code]?.test(title) ?? false, at: `${file}: ${title}` }));
    });
  expect(found.filter(({ isNamed }) => !isNamed)).toEqual([]);
  // Each kind of warning that is looked for is in some of them.
  expect([...new Set(found.map(({ code }) => code))].sort()).toEqual(Object.keys(NAMED_BY).sort());
});

test('nothing of the examples and of manifests of tests is warned of', () => {
  const stories = readdirSync(join(ROOT, 'examples/user-stories'), { withFileTypes: true });
  const folders = [
    'examples/shop',
    'test/fixtures/manifests',
    ...stories.filter(each => each.isDirectory()).map(({ name }) => `examples/user-stories/${name}`),
  ];
  const found = folders.flatMap(folder => {
    const files = globSync(`${folder}/**/*.yaml`, { cwd: ROOT }).sort();
    const problems = problemsOf(...files.map(file => readFileSync(join(ROOT, file), 'utf8')));
    return problems.map(problem => `${folder}: ${problemText(problem)}`);
  });
  expect(folders.length).toBeGreaterThan(9);
  // The story shows that a tenant cannot open what the platform sealed.
  expect(found).toEqual([
    expect.stringMatching(/^.*1-deny: .* vault\/let-the-shop-in: .* denies it before$/),
  ]);
});
