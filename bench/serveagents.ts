/**
 * A process of its own: an API server with so many nodes and their agents, of which each answers any command as `sluice
 * status` does where all is well, after a given time. Says its address, and serves until it is ended.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { WebSocketServer } from 'ws';
import { CHECK_NAMES } from '../src/api/health/check.ts';
import { times } from './times.ts';

interface Agents {
  readonly nodes: number;
  /** How long a node takes to start the command and to answer. */
  readonly answerMs: number;
}

const { nodes, answerMs } = JSON.parse(process.argv[2]!) as Agents;
const names = times(nodes, n => `node-${n}`);
const STDOUT = 1;
const STATUS = 3;

const lists: Readonly<Record<string, object>> = {
  '/api/v1/nodes': listOf(
    'NodeList',
    names.map(name => ({ metadata: { name } })),
  ),
  '/api/v1/namespaces/sluice/pods': listOf(
    'PodList',
    names.map(node => ({
      metadata: { name: `sluice-${node}`, namespace: 'sluice' },
      spec: { nodeName: node, containers: [{ name: 'sluice' }] },
      status: { phase: 'Running' },
    })),
  ),
};

function listOf(kind: string, items: readonly object[]): object {
  return { apiVersion: 'v1', kind, metadata: { resourceVersion: '1' }, items };
}

/** As large as that of a node in life. */
const ANSWER = JSON.stringify({
  apiVersion: 'sluice/v1',
  kind: 'Status',
  ready: true,
  checks: CHECK_NAMES.map(name => ({
    name,
    state: 'ok',
    reason: `${name}: all is as it has to be here`,
    remedy: '',
  })),
  problems: [],
  policies: [],
});

const server = createServer(({ url = '' }, response) => {
  const list = lists[url.replace(/\?.*/, '')];
  response.writeHead(list === undefined ? 404 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(list ?? {}));
});
const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => 'v4.channel.k8s.io' });
server.on('upgrade', (request, socket, head) =>
  sockets.handleUpgrade(request, socket, head, async open => {
    await setTimeout(answerMs);
    const say = (channel: number, text: string) =>
      open.send(Buffer.concat([Buffer.from([channel]), Buffer.from(text)]));
    say(STDOUT, `${ANSWER}\n`);
    say(STATUS, '{"status":"Success"}');
  }),
);
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
