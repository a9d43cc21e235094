/** The commands of nodes, of the whole cluster, as somebody types them who is on none of its nodes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { RecordingReader } from '../../../src/observe/recording/read.ts';
import { command, kubectl, server, state, until } from './support/cluster.ts';
import { ADMIN, MAIN, Sender, typed } from './support/prompt.ts';
import { type Shop, shop } from './support/shop.ts';
import { agents, connection, endpoint, PORT } from './support/site.ts';

let place: Shop;
beforeAll(async () => {
  place = await shop('prompt');
});

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

test('what was denied and what was opened is told with its node, soon, and leaves no process behind', async () => {
  const { db, web, stranger, namespace } = place;
  const flows = typed(['flows', '--follow', '-n', namespace]);
  closers.push(flows.end);
  await until('both nodes are followed', async () => {
    await connection(web, endpoint(db.address));
    const nodes = new Set(
      flows.told.filter(({ object }) => object.kind === 'SeenFlow').map(({ object }) => object.node),
    );
    return nodes.size === 2 ? true : undefined;
  });
  const seen = flows.told.filter(
    ({ object }) => object.kind === 'SeenFlow' && object.to.pod === `${namespace}/db`,
  );
  for (const { object } of seen)
    expect(object.directions).toEqual(object.node === db.node ? ['ingress'] : ['egress']);
  const sender = await Sender.start(stranger.pid);
  closers.push(() => sender.kill());
  for (let port = 20_000; port < 20_005; port++) {
    await sender.send(db.address, port);
    const line = await until('the denial is told', async () =>
      flows.told.find(({ object }) => object.kind === 'Denial' && object.port === port),
    );
    expect(line.object).toMatchObject({ node: db.node, policy: `NetworkPolicy ${namespace}/db` });
  }
  await flows.end();
  await until('no process is left', async () => (remotes().length === 0 ? true : undefined), 10_000);
});

test('a node whose agent is replaced is said to be away, comes back by itself, and tells on', async () => {
  const { db, stranger, namespace } = place;
  const drops = typed(['drops', '--follow', '-n', namespace]);
  closers.push(drops.end);
  const sender = await Sender.start(stranger.pid);
  closers.push(() => sender.kill());
  let port = 21_000;
  const isTold = async () => {
    const tried = ++port;
    await sender.send(db.address, tried);
    return until(
      'the denial is told',
      async () => drops.told.find(({ object }) => object.port === tried),
      3_000,
    ).catch(() => undefined);
  };
  await until('the node is followed', isTold);
  const { name } = (await agents()).get(db.node)!;
  await kubectl('-n', 'sluice', 'delete', 'pod', name);
  await until('it is away', async () => drops.said.notes.includes(`node ${db.node} is away`) || undefined);
  await until('it is back', async () => drops.said.notes.includes(`node ${db.node} is back`) || undefined);
  await until('it tells on', isTold);
  const keys = drops.told.map(({ object }) => `${object.time} ${object.port}`);
  expect(new Set(keys).size).toBe(keys.length);
});

test('all nodes record into one file, until somebody ends it, and leave no process behind', async () => {
  const { db, web, stranger, namespace } = place;
  const file = join(tmpdir(), `sluice-all-${process.pid}.rec`);
  closers.push(() => rmSync(file, { force: true }));
  const child = spawn(process.execPath, [MAIN, 'record', file, '--for', '1h', ...ADMIN]);
  closers.push(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  await until('both nodes are asked', async () => (remotes().length === 2 ? true : undefined));
  const sender = await Sender.start(stranger.pid);
  closers.push(() => sender.kill());
  // Nothing tells that all agents record: the file is written once a minute, and at the end.
  for (let port = 22_000; port < 22_015; port++) {
    await connection(web, endpoint(db.address));
    await sender.send(db.address, port);
    await setTimeout(300);
  }
  child.kill('SIGINT');
  expect(await ended).toEqual([0, null]);
  const reader = new RecordingReader();
  for (const line of readFileSync(file, 'utf8').trimEnd().split('\n')) reader.add(line);
  const { flows, recordedOn, missedOn } = reader.recording();
  expect([recordedOn, missedOn]).toEqual([[db.node, web.node].sort(), undefined]);
  const between = (from: string, was: string) =>
    flows.filter(
      flow => flow.from.pod?.key === `${namespace}/${from}` && flow.to.pod?.name === 'db' && flow.was === was,
    );
  const [opened] = between('web', 'allow');
  expect(Math.min(opened!.egress, opened!.ingress)).toBeGreaterThan(0);
  expect(between('stranger', 'deny').length).toBeGreaterThan(0);
  expect(between('stranger', 'deny')[0]!.from.pod).toMatchObject({ labels: { name: 'stranger' } });
  await until('no process is left', async () => (remotes().length === 0 ? true : undefined), 10_000);
});

test('status, inspect and trace are answered by the nodes that know', async () => {
  const { db, web, stranger, namespace } = place;
  const ask = (...words: string[]) => command(process.execPath, MAIN, ...words, ...ADMIN);
  const objects = async (...words: string[]) => {
    const { stdout } = await ask(...words, '-o', 'json');
    return stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line));
  };
  const both = [db.node, web.node].sort();
  const status = await ask('status');
  expect([status.code, status.stderr]).toEqual([0, '']);
  const ready = status.stdout.match(/^\S+(?= +ready )/gm);
  expect(ready).toEqual(both);
  expect((await ask('status', '--node', db.node)).stdout).toContain(`${db.node} is ready`);
  expect(await objects('inspect', `${namespace}/db`)).toMatchObject([
    { kind: 'Inspection', node: db.node, equal: true, pods: [{ pod: `${namespace}/db` }] },
  ]);
  expect((await objects('inspect')).map(({ node }) => node)).toEqual(both);
  const traces = await objects('trace', `${namespace}/stranger`, `${namespace}/db:${PORT}`);
  expect(traces.map(({ node }) => node)).toEqual([...new Set([db.node, stranger.node])].sort());
  expect(traces.find(({ node }) => node === db.node)).toMatchObject({ verdict: 'drop', agrees: true });
  const nobody = await ask('status', '--node', 'nobody');
  expect(nobody).toMatchObject({
    code: 2,
    stdout: '',
    stderr: 'node nobody gave no answer: no agent runs on it\n',
  });
});

test('who lacks a right gets nothing, and is told which one', async () => {
  const { namespace } = place;
  await kubectl('-n', namespace, 'create', 'serviceaccount', 'eve');
  const token = (await kubectl('-n', namespace, 'create', 'token', 'eve')).trim();
  const file = join(tmpdir(), `sluice-eve-${process.pid}`);
  closers.push(() => rmSync(file));
  const named = (kind: string, value: object) => [{ name: 'eve', [kind]: value }];
  const cluster = { server, 'certificate-authority': join(state, 'pki/ca.crt') };
  writeFileSync(
    file,
    JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'eve' },
      ...{ clusters: named('cluster', cluster), users: named('user', { token }) },
      contexts: named('context', { cluster: 'eve', user: 'eve' }),
    }),
  );
  const asEve = () => command(process.execPath, MAIN, 'drops', '--follow', '--kubeconfig', file);
  const nothing = await asEve();
  expect(nothing).toMatchObject({ code: 2, stdout: '' });
  expect(nothing.stderr).toContain('the right to list pods in namespace sluice is missing');
  const who = `--serviceaccount=${namespace}:eve`;
  closers.push(() => kubectl('-n', 'sluice', 'delete', 'role,rolebinding', 'eve-lists'));
  await kubectl('-n', 'sluice', 'create', 'role', 'eve-lists', '--verb=list', '--resource=pods');
  await kubectl('-n', 'sluice', 'create', 'rolebinding', 'eve-lists', '--role=eve-lists', who);
  const list = await until('the role is known', async () => {
    const output = await asEve();
    return output.stderr.includes('list pods') ? undefined : output;
  });
  expect(list).toMatchObject({ code: 2, stdout: '' });
  expect(list.stderr).toMatch(/the right to create( and get)? pods\/exec in namespace sluice is missing/);
});

/** Processes of ours in the agents' pods, which this machine sees as its own. */
function remotes(): string[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .filter(pid => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return words.includes('--remote') && readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes('pod');
      } catch {
        return false; // it has ended
      }
    });
}
