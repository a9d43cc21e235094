/** `sluice record` of a whole cluster, as people type it, on an API server that speaks exec; and what nodes may not do to it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ExecServer, type Session } from '../../../test/support/api/execserver.ts';
import { MergedRecording } from '../../observe/recording/merge.ts';
import { RecordingReader } from '../../observe/recording/read.ts';
import { connectionsOf, type Recording } from '../../observe/recording/recording.ts';
import { NodeParts } from './cluster.ts';

const HEADER = {
  ...{ apiVersion: 'sluice/v1', kind: 'Recording', fromMs: 1, toMs: 2, recordedOn: ['another'] },
  ...{ unknownPods: 'deny', lost: 1, leftOut: [{ namespace: 'shop', connections: 2 }] },
};
const pod = (name: string, node: string) => ({ namespace: 'shop', name, node, labels: { app: name } });
const FLOW = { from: 0, to: 1, protocol: 'TCP', was: 'allow', firstMs: 1, lastMs: 2 };

/** A part of a recording, as the node of the source or of the destination sends it. */
function part(port: number, seen: { egress: number; ingress: number }, ...more: object[]): string {
  const ends = [
    { end: { address: '10.0.0.1', pod: pod('web', 'n1') } },
    { end: { address: '10.0.0.2', pod: pod('db', 'n2') } },
  ];
  const flow = { flow: { ...FLOW, port, ...seen } };
  const lines = [HEADER, ...more, ...ends, flow, { complete: { flows: 1 } }];
  return lines.map(line => `${JSON.stringify(line)}\n`).join('');
}
const OPENED = { egress: 3, ingress: 0 };
const ANSWERED = { egress: 0, ingress: 3 };

describe('at the prompt', () => {
  let server: ExecServer;
  let folder: string;
  const children: ChildProcess[] = [];
  const PATIENCE = { timeout: 30_000 };

  beforeEach(async () => {
    server = await new ExecServer().start();
    folder = mkdtempSync(join(tmpdir(), 'sluice-cluster-record-'));
  });

  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function typed(...words: string[]) {
    const main = join(import.meta.dirname, '../main.ts');
    const file = join(folder, 'all.rec');
    const words_ = ['record', file, '--kubeconfig', server.kubeconfig, ...words];
    const child = spawn(process.execPath, [main, ...words_]);
    children.push(child);
    const said = { err: '', code: undefined as number | null | undefined };
    child.stderr.on('data', data => {
      said.err += data;
    });
    child.on('exit', code => {
      said.code = code;
    });
    return { said, child, file };
  }

  async function sessions(count: number): Promise<Session[]> {
    await vi.waitFor(() => expect(server.sessions.length).toBe(count), PATIENCE);
    return server.sessions;
  }

  /** The last that it has, and its end. */
  async function finish(session: Session, text: string): Promise<void> {
    await vi.waitFor(() => expect(session.input).not.toBe(''), PATIENCE);
    session.say(text);
    session.exit(0);
  }

  function read(file: string): Recording {
    const reader = new RecordingReader();
    for (const line of readFileSync(file, 'utf8').trimEnd().split('\n')) reader.add(line);
    return reader.recording();
  }

  const byNode = (all: readonly Session[]) =>
    ['sluice-n1', 'sluice-n2'].map(name => all.find(session => session.pod === name)!);

  test('all agents record until it is ended, and what both nodes saw counts once, in one file', async () => {
    const { said, child, file } = typed('--for', '1h');
    const [first, second] = byNode(await sessions(2));
    expect(first!.words).toEqual(['sluice', 'record', '-', '--remote']);
    first!.say(`\n${part(80, OPENED)}\n`);
    first!.say(part(81, OPENED));
    second!.say('\n');
    child.kill('SIGINT');
    await finish(first!, part(80, OPENED));
    await finish(second!, part(80, { egress: 0, ingress: 6 }));
    await vi.waitFor(() => expect(said.code).toBe(0), PATIENCE);
    expect(said.err).toMatch(/^recorded 9 connections in .* on n1, n2, as 2 flows\n4 connections lost/);
    const recording = read(file);
    expect(recording).toMatchObject({ recordedOn: ['n1', 'n2'], unknownPods: 'deny', lost: 4 });
    expect(recording.flows.map(({ port, egress, ingress }) => [port, egress, ingress])).toEqual([
      [80, 6, 6],
      [81, 3, 0],
    ]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test.each([
    [['-n', 'shop'], 3],
    [['-n', 'shp'], 0],
    [['-n', 'shp', '-A'], 4],
  ] as const)('%j: only connections with an end in that namespace are in the file', async (words, flows) => {
    server.nodes = ['n1'];
    const { said, child, file } = typed('--for', '1h', ...words);
    const [session] = (await sessions(1)) as [Session];
    session.say('\n');
    const ends = (from: string, to: string) =>
      [from, to]
        .map(namespace => ({ ...pod('a', 'n1'), namespace }))
        .map((pod, i) => ({ end: { address: `10.0.0.${i}`, pod } }));
    const pairs = [
      ['shop', 'shop'],
      ['shop', 'ops'],
      ['ops', 'shop'],
      ['ops', 'ops'],
    ] as const;
    const silent = ['shop', 'ops'].map(namespace => ({ silent: { namespace, labels: { app: 'b' } } }));
    const lines = pairs.flatMap(([from, to], i) => [
      ...ends(from, to),
      { flow: { ...FLOW, from: 2 * i, to: 2 * i + 1, port: 80 + i, ...OPENED } },
    ]);
    child.kill('SIGINT');
    const all = [HEADER, ...silent, ...lines, { complete: { flows: 4 } }];
    await finish(session, all.map(line => `${JSON.stringify(line)}\n`).join(''));
    await vi.waitFor(() => expect(said.code).toBe(0), PATIENCE);
    const recording = read(file);
    expect(recording.flows).toHaveLength(flows);
    expect(recording.silent.map(({ namespace }) => namespace).sort()).toEqual(
      { 3: ['shop'], 0: [], 4: ['ops', 'shop'] }[flows],
    );
    expect(said.err.includes('nothing was recorded of pods in namespace shp')).toBe(flows === 0);
  });

  test('a node that goes away leaves what it had told, is asked again, and is named in the file: trouble', async () => {
    const { said, child, file } = typed('--for', '1h');
    const [first, second] = byNode(await sessions(2));
    first!.say(part(80, OPENED));
    first!.say(part(81, OPENED).slice(0, 500));
    second!.say(part(80, ANSWERED));
    first!.cut();
    await vi.waitFor(() => expect(said.err).toContain('node n1 is away: the connection was lost'), PATIENCE);
    const again = (await sessions(3)).at(-1)!;
    again.say('\n');
    await vi.waitFor(() => expect(said.err).toContain('node n1 is back'), PATIENCE);
    child.kill('SIGINT');
    await finish(again, part(82, OPENED));
    await finish(second!, part(80, ANSWERED));
    await vi.waitFor(() => expect(said.code).toBe(2), PATIENCE);
    const recording = read(file);
    expect(recording.flows.map(({ port }) => port)).toEqual([80, 82]);
    expect(recording.missedOn).toEqual(['n1']);
    expect(said.err).toContain('a part is missing of what n1 saw');
  });

  test.each(['list', 'exec'] as const)('a caller who may not %s records nothing', async right => {
    server.rights[right] = false;
    const { said, file } = typed('--for', '1h');
    await vi.waitFor(() => expect(said.code).toBe(2), PATIENCE);
    expect(said.err).toMatch(/the right to .* is missing/);
    expect(existsSync(file)).toBe(false);
  });
});

describe('a node that lies', () => {
  let merged: MergedRecording;
  let parts: NodeParts;
  const tell = (node: string, text: string) =>
    text
      .split('\n')
      .filter(line => line !== '')
      .map(line => parts.take(node, line))
      .filter(fault => fault !== undefined);

  let beforeMs: number;
  beforeEach(() => {
    beforeMs = Date.now();
    merged = new MergedRecording();
    parts = new NodeParts(merged);
    tell('n2', part(80, ANSWERED));
  });

  test('tells in its own name, and at this time, whatever it says', () => {
    tell('n1', part(80, OPENED));
    const { recordedOn, fromMs, toMs } = merged.recording();
    expect(recordedOn).toEqual(['n1', 'n2']);
    expect(fromMs).toBeGreaterThanOrEqual(beforeMs);
    expect(toMs).toBeGreaterThanOrEqual(fromMs);
  });

  test('what is no recording is not taken, and what comes behind it is', () => {
    expect(tell('n1', 'garbage\n')[0]).toContain('said what is no recording (line 1: is no JSON object)');
    expect(tell('n1', part(81, OPENED).replace('"flows":1', '"flows":2'))).toHaveLength(1);
    expect(merged.recording().flows.map(({ port }) => port)).toEqual([80]);
    expect(tell('n1', part(82, OPENED))).toEqual([]);
    expect(merged.recording().flows.map(({ port }) => port)).toEqual([80, 82]);
    expect([parts.hasMissed, merged.recording().missedOn]).toEqual([true, ['n1']]);
  });

  test('of a part without measure what came first is taken, and what comes behind it', () => {
    parts = new NodeParts(merged, 10_000);
    const pods = Array.from({ length: 100 }, (_, n) =>
      JSON.stringify({ end: { address: '10.0.0.1', pod: pod(`p${n}`, 'n1') } }),
    );
    const long = part(81, OPENED).replace('{"complete"', `${pods.join('\n')}\n{"complete"`);
    expect(tell('n1', long)).toEqual([expect.stringContaining('it reported more than a node may')]);
    expect(tell('n1', part(82, OPENED))).toEqual([]);
    expect(merged.recording().flows.map(({ port }) => port)).toEqual([80, 81, 82]);
    expect([parts.hasMissed, merged.recording().missedOn]).toEqual([true, ['n1']]);
  });

  test('a node that goes away within a part without measure is heard when it is back', () => {
    parts = new NodeParts(merged, 2_000);
    const pods = Array.from({ length: 30 }, (_, n) => ({
      end: { address: '10.0.0.1', pod: pod(`p${n}`, 'n1') },
    }));
    expect(tell('n1', part(81, OPENED, ...pods).split('{"complete"')[0]!)).toHaveLength(1);
    parts.miss('n1');
    expect(tell('n1', part(82, OPENED))).toEqual([]);
    expect(merged.recording().flows.map(({ port }) => port)).toEqual([80, 82]);
  });

  test('takes nobody the file: counts, names and lines stay as a reader takes them', () => {
    const most = Number.MAX_SAFE_INTEGER;
    for (const letter of 'abc') {
      const leftOut = Array.from({ length: 1_500 }, (_, n) => ({
        namespace: `${letter}${n}`,
        connections: most,
      }));
      const text = part(80, { egress: most, ingress: 0 });
      expect(tell('n1', text.replace(JSON.stringify(HEADER.leftOut), JSON.stringify(leftOut)))).toEqual([]);
    }
    expect(tell('n1', JSON.stringify({ ...HEADER, unknownPods: '\u009b'.repeat(200_000) }))).toHaveLength(1);
    const recording = merged.recording();
    expect(connectionsOf(recording)).toBe(most);
    expect(recording.leftOut.size).toBeLessThanOrEqual(1_001);
  });
});
