import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { testView } from '../../test/support/agent/view.ts';
import { StatusKeeper } from '../agent/status.ts';
import { type RpcServer, serveRpc } from '../api/rpc/server.ts';
import { nodeReader } from '../daemon/serve/view.ts';
import { ownNetworkNamespace } from '../kernel/host/read.ts';
import { ClusterState } from '../model/cluster.ts';
import { findExpected } from './findexpected.ts';
import { readState } from './sources/readstate.ts';

let folder: string;
let socket: string;
let keeper: StatusKeeper;
let server: RpcServer | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-read-'));
  socket = join(folder, 's');
  keeper = new StatusKeeper('one');
});

afterEach(async () => {
  await server?.close();
  server = undefined;
  rmSync(folder, { recursive: true });
});

async function serve(networkNamespace: string, cutsConnections = true): Promise<void> {
  const identity = { networkNamespace, cutsConnections };
  const view = testView({ identity, status: keeper, readHost: nodeReader() });
  server = await serveRpc({ socket, view });
}

function follow(): void {
  const cluster = new ClusterState();
  cluster.apply({ type: 'namespace', key: 'shop', value: { name: 'shop', labels: { team: 'a' } } });
  keeper.committed({ cluster, ops: [], names: [], tookMs: 1, dumped: true, waitingPods: new Set() });
}

test('readState() and findExpected() take nothing from an agent that has not read its cluster', async () => {
  await serve(await ownNetworkNamespace());
  const sentence = `the agent (${socket}) cannot answer: it has not read its cluster yet (sluice status says why)`;
  await expect(readState({ socket })).rejects.toThrow(sentence);
  expect(await findExpected('trace', { socket })).toEqual({ missing: sentence });
});

test.each([true, false])("findExpected() is what the agent's status has: guarded %s", async guarded => {
  await serve(await ownNetworkNamespace(), guarded);
  follow();
  const expected = await findExpected('trace', { socket });
  expect(expected).toMatchObject({ node: 'one', guarded, source: "the agent's cluster" });
  expect('cluster' in expected && expected.cluster.namespaces.get('shop')?.labels).toEqual({ team: 'a' });
});

test('findExpected() does not judge one network namespace by the agent of another', async () => {
  await serve('net:[1]');
  follow();
  expect(await findExpected('trace', { socket })).toEqual({
    missing: expect.stringContaining('it programs another network namespace'),
  });
  expect((await readState({ socket })).cluster.namespaces.size).toBe(1);
});

test('findExpected() is the manifests where they are named, and their node must be there', async () => {
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } };
  writeFileSync(join(folder, 'node.json'), JSON.stringify(node));
  const manifests = [folder];
  expect(await findExpected('trace', { manifests, node: 'n1' })).toMatchObject({ node: 'n1', guarded: true });
  for (const command of ['trace', 'inspect'] as const)
    await expect(findExpected(command, { manifests })).rejects.toThrow(
      `to compare with --manifests, ${command} needs --node NAME beside them`,
    );
  await expect(findExpected('trace', { manifests, node: 'n2' })).rejects.toThrow(
    `there is no node n2 in ${folder} (nodes: n1)`,
  );
  await expect(findExpected('trace', { socket, node: 'n1' })).rejects.toThrow('give one');
});
