import { expect, test } from 'vitest';
import { toTerminal } from '../../terminal/colours.ts';
import type { AgentPod, Agents } from './agents.ts';
import { compared, versionNote } from './versions.ts';

const DAY = '1e181e7f of 2026-11-27';

test.each([
  ['0.2.0', '0.2.0', undefined],
  ['0.2.0', '0.10.0', 'older than'],
  ['1.0.0', '0.10.0', 'newer than'],
  ['1.0.0-rc.1', '1.0.0', 'older than'],
  ['1.0.0-rc.1', '1.0.0-rc.2', 'another build than'],
  ['1.0.0', 'latest', 'another build than'],
  ['1.0.0', '1.0.0.0', 'another build than'],
])('compared() of version %s with %s is %s', (own, other, how) => {
  expect(compared({ version: own }, { version: other })).toBe(how);
});

test.each([
  [DAY, DAY, undefined],
  [DAY, undefined, undefined],
  [undefined, DAY, undefined],
  [DAY, '2b of 2026-12-01', 'older than'],
  ['2b of 2026-12-01', DAY, 'newer than'],
  [DAY, '2b of 2026-11-27', 'another build than'],
  [DAY, 'of long ago', 'another build than'],
])('compared() of the same version with commit %s and %s is %s', (own, other, how) => {
  const release = (commit: string | undefined) => ({
    version: '1.0.0',
    ...(commit !== undefined && { commit }),
  });
  expect(compared(release(own), release(other))).toBe(how);
});

const pod = (node: string, image: string, phase = 'Running'): AgentPod => ({
  ...{ name: `sluice-${node}`, node, container: 'sluice', phase, image },
});
const OWN = { version: '0.2.0', commit: DAY };

/** Agents that answer with a line for each image, and who was asked. */
function asked(lines: Readonly<Record<string, string>>) {
  const nodes: string[] = [];
  const run: Agents['run'] = async ({ node, image = '' }, words, sink) => {
    nodes.push(node);
    expect(words).toEqual(['sluice', 'version', '--output=json']);
    if (lines[image] === undefined) throw new Error('no route');
    for (const line of lines[image].split('\n')) sink.line(line);
    return undefined;
  };
  return { nodes, run };
}

const said = (version: string, commit?: string) => JSON.stringify({ kind: 'Version', version, commit });

test('versionNote() asks one agent of each image, and says which are older and newer in one line', async () => {
  const { nodes, run } = asked({
    a: said('0.3.0'),
    b: said('0.2.0', DAY),
    c: said('0.1.0', '0a of 2026-01-01'),
  });
  const pods = ['n1', 'n2', 'n3', 'n4'].map(node => pod(node, 'a'));
  const note = await versionNote(
    { run },
    [...pods, pod('n5', 'b'), pod('n6', 'c'), pod('n7', 'd', 'Pending')],
    OWN,
  );
  expect(nodes).toEqual(['n1', 'n5', 'n6']);
  expect(note).toBe(
    `this command line (0.2.0, ${DAY}) is older than the agent of n1, n2, n3 and 1 more (0.3.0), and newer than the agent of n6 (0.1.0, 0a of 2026-01-01)`,
  );
});

test.each([
  ['that does not answer', {}],
  ['that is of the same version', { a: said('0.2.0', DAY) }],
  ['that says no version', { a: '{"kind":"Version","version":7}\nnull\n[]\n{' }],
  ['that says something else', { a: JSON.stringify({ kind: 'Status', version: '9.9.9' }) }],
  ['whose version has no end', { a: said('9'.repeat(101)) }],
])('versionNote() says nothing of an agent %s', async (_, lines) => {
  expect(await versionNote(asked(lines), [pod('n1', 'a')], OWN)).toBeUndefined();
});

test('versionNote() of a hostile version is one line that no terminal obeys', async () => {
  const hostile = asked({ a: said('\x1b[2J\n9.0.0\u202e', 'x'.repeat(101)) });
  const note = await versionNote(hostile, [pod('n1', 'a')], OWN);
  expect(note).toContain('another build than');
  expect(note!.length).toBeLessThan(200);
  expect(toTerminal(note!)).not.toMatch(/[\p{Cc}\u202e]/u);
});
