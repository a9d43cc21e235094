import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ApiServer } from '../../inputs/kube/client/apiserver.ts';
import { agentClusterOf, type OpenAgentCluster, openAgentCluster } from './agentcluster.ts';

const DAEMONSETS = '/apis/apps/v1/namespaces/platform/daemonsets';
const SLUICE = { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'sluice' } };

let server: Server;
let cluster: OpenAgentCluster;
/** `PUT /apis/…`, and what came with it. */
let asked: { what: string; body: string; type: string | undefined }[];
/** By `GET /apis/…`: one status after the other, the last one for good, and what is answered with it. */
let answers: Record<string, { codes: number[]; body?: object }>;

beforeEach(async () => {
  asked = [];
  answers = {};
  server = createServer(async (request, response) => {
    const what = `${request.method} ${request.url?.replace(/\?$/, '')}`;
    asked.push({ what, body: await text(request), type: request.headers['content-type'] });
    const { code, body } = answerOf(what, request);
    response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  cluster = agentClusterOf(
    new ApiServer(async () => ({ server: `http://127.0.0.1:${port}`, headers: {} })),
    'platform',
  );
});

afterEach(async () => {
  await cluster.close();
  server.closeAllConnections();
  await new Promise(resolve => server.close(resolve));
});

function answerOf(what: string, { method }: IncomingMessage): { code: number; body: object } {
  const { codes, body = {} } = answers[what] ?? { codes: [404] };
  const code = codes.length > 1 ? codes.shift()! : codes[0]!;
  const message = `who ${method}s here?`;
  return { code, body: code < 400 ? body : { kind: 'Status', code, reason: 'No', message } };
}

describe('an agents’ cluster', () => {
  test('reads, makes, changes and deletes DaemonSets of its namespace', async () => {
    answers[`GET ${DAEMONSETS}/sluice`] = { codes: [200], body: SLUICE };
    answers[`POST ${DAEMONSETS}`] = { codes: [201] };
    answers[`PUT ${DAEMONSETS}/sluice`] = { codes: [200] };
    answers[`DELETE ${DAEMONSETS}/sluice?propagationPolicy=Background`] = { codes: [200] };
    expect(await cluster.daemonSet('sluice')).toEqual(SLUICE);
    await cluster.create(SLUICE);
    await cluster.replace(SLUICE);
    await cluster.delete('sluice');
    expect(asked).toEqual([
      { what: `GET ${DAEMONSETS}/sluice`, body: '', type: undefined },
      { what: `POST ${DAEMONSETS}`, body: JSON.stringify(SLUICE), type: 'application/json' },
      { what: `PUT ${DAEMONSETS}/sluice`, body: JSON.stringify(SLUICE), type: 'application/json' },
      { what: `DELETE ${DAEMONSETS}/sluice?propagationPolicy=Background`, body: '', type: undefined },
    ]);
  });

  test('has no DaemonSet, and deletes none, that is gone', async () => {
    expect(await cluster.daemonSet('sluice')).toBeUndefined();
    await cluster.delete('sluice');
  });

  test('lists the pods that carry the name, also where the server has null for none', async () => {
    const path =
      'GET /api/v1/namespaces/platform/pods?labelSelector=app.kubernetes.io%2Fname%3Dsluice-cleaner';
    answers[path] = { codes: [200], body: { items: [{ metadata: { name: 'a' } }] } };
    expect(await cluster.pods('sluice-cleaner')).toEqual([{ metadata: { name: 'a' } }]);
    answers[path] = { codes: [200], body: { items: null } };
    expect(await cluster.pods('sluice-cleaner')).toEqual([]);
  });

  test('asks again while the server has not heard of its rights yet', async () => {
    answers[`GET ${DAEMONSETS}/sluice`] = { codes: [403, 403, 200], body: SLUICE };
    expect(await cluster.daemonSet('sluice')).toEqual(SLUICE);
  });

  test('says what was refused in the server’s own words', async () => {
    answers[`POST ${DAEMONSETS}`] = { codes: [403] };
    await expect(cluster.create(SLUICE)).rejects.toThrow(
      /^cannot create DaemonSet sluice in namespace platform: who POSTs here\?$/,
    );
    answers[`PUT ${DAEMONSETS}/sluice`] = { codes: [409] };
    await expect(cluster.replace(SLUICE)).rejects.toThrow(
      /^cannot change DaemonSet sluice .* who PUTs here\?$/,
    );
  });

  test('says so where nobody answers', async () => {
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
    await expect(cluster.pods('sluice')).rejects.toThrow(
      /^cannot list pods of sluice in namespace platform: .*ECONNREFUSED/,
    );
  });
});

test('openAgentCluster() says in a sentence that a kubeconfig is not there', async () => {
  await expect(openAgentCluster('sluice', '/nowhere/config')).rejects.toThrow(
    /^the kubeconfig cannot be used: .*\/nowhere\/config/,
  );
});
