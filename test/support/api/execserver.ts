/** An API server that lists pods of agents and speaks exec's WebSocket (v4.channel.k8s.io): as much as a prompt asks. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { promisify } from 'node:util';
import { expect, vi } from 'vitest';

const CHANNEL = { stdout: 1, stderr: 2, status: 3 } as const;

/** One command that runs. */
export class Session {
  readonly words: readonly string[];
  readonly pod: string;
  readonly #socket: Duplex;
  isClosed = false;
  /** The text that was written to its standard input. */
  input = '';

  constructor(url: URL, socket: Duplex) {
    this.words = url.searchParams.getAll('command');
    this.pod = url.pathname.split('/')[6]!;
    this.#socket = socket;
    for (const event of ['close', 'error', 'end'])
      socket.on(event, () => {
        this.isClosed = true;
      });
    let waiting = Buffer.alloc(0);
    socket.on('data', (data: Buffer) => {
      const { texts, rest } = inputs(Buffer.concat([waiting, data]));
      waiting = rest;
      this.input += texts.join('');
    });
  }

  say(text: string, channel: keyof typeof CHANNEL = 'stdout'): void {
    this.#socket.write(frame(Buffer.concat([Buffer.from([CHANNEL[channel]]), Buffer.from(text)])));
  }

  exit(code: number): void {
    const details = { causes: [{ reason: 'ExitCode', message: String(code) }] };
    const failure = { status: 'Failure', reason: 'NonZeroExitCode', message: `exit code ${code}`, details };
    const status = code === 0 ? { status: 'Success' } : failure;
    this.say(JSON.stringify(status), 'status');
  }

  cut(): void {
    this.#socket.destroy();
  }
}

/** Whole frames of a client, masked and short; the rest waits for more. */
function inputs(bytes: Buffer): { readonly texts: string[]; readonly rest: Buffer<ArrayBuffer> } {
  const texts: string[] = [];
  let rest = Buffer.from(bytes);
  while (rest.length >= 6 && rest.length >= 6 + (rest[1]! & 0x7f)) {
    const [mask, payload] = [rest.subarray(2, 6), rest.subarray(6, 6 + (rest[1]! & 0x7f))];
    const plain = payload.map((byte, at) => byte ^ mask[at % 4]!);
    const isInput = (rest[0]! & 0x0f) === 2 && plain[0] === 0;
    if (isInput) texts.push(Buffer.from(plain.subarray(1)).toString());
    rest = rest.subarray(6 + payload.length);
  }
  return { texts, rest };
}

/** A binary frame of a server (RFC 6455 5.2). */
function frame(payload: Buffer): Buffer {
  const head = payload.length < 126 ? Buffer.from([0x82, payload.length]) : Buffer.from([0x82, 126, 0, 0]);
  if (payload.length >= 126) head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}

const MAIN = join(import.meta.dirname, '../../../src/cli/main.ts');

/** What a command came to. */
interface Typed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export class ExecServer {
  readonly sessions: Session[] = [];
  readonly rights = { list: true, exec: true };
  nodes: readonly string[] = ['n1', 'n2'];
  /** The Nodes as objects, where more than their names matters. */
  nodeObjects: readonly object[] | undefined;
  /** Nodes on which no agent runs. */
  withoutAgent: readonly string[] = [];
  /** Other answers, by their paths: `/api/v1/pods`. What is not there is not found. */
  readonly answers = new Map<string, object>();
  /** Paths of lists that the caller may not read. */
  readonly forbidden = new Set<string>();
  /** Handshakes that wait for the test; undefined where each is answered at once. */
  handshakes: (() => void)[] | undefined;
  readonly #server: Server = createServer((request, response) => {
    const [code, body] = this.#answer(request);
    response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  readonly #folder = mkdtempSync(join(tmpdir(), 'sluice-exec-'));
  readonly kubeconfig = join(this.#folder, 'kubeconfig');
  readonly #sockets = new Set<Duplex>();

  async start(): Promise<this> {
    this.#server.on('upgrade', (request, socket) => this.#upgrade(request, socket));
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const server = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    const named = (kind: string, value: object) => [{ name: 'test', [kind]: value }];
    writeFileSync(
      this.kubeconfig,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'test',
        clusters: named('cluster', { server, 'insecure-skip-tls-verify': true }),
        users: named('user', { token: 'secret' }),
        contexts: named('context', { cluster: 'test', user: 'test' }),
      }),
    );
    return this;
  }

  /** The command line as people type it, until it ends. */
  async typed(...words: string[]): Promise<Typed> {
    const ran = promisify(execFile)(process.execPath, [MAIN, ...words, '--kubeconfig', this.kubeconfig]);
    return ran.then(
      said => ({ ...said, code: 0 }),
      (error: Typed) => error,
    );
  }

  /** The sessions, once there are so many. */
  async asked(count: number): Promise<Session[]> {
    await vi.waitFor(() => expect(this.sessions.length).toBe(count), { timeout: 30_000 });
    return this.sessions;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    this.#server.closeAllConnections();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #answer({ url = '' }: IncomingMessage): [number, object] {
    if (url.startsWith('/api/v1/namespaces/sluice/pods?'))
      return this.rights.list ? [200, listOf('PodList', this.nodes.map(pod))] : FORBIDDEN;
    if (url.startsWith('/api/v1/nodes?')) {
      const names = [...this.nodes, ...this.withoutAgent];
      return [200, listOf('NodeList', this.nodeObjects ?? names.map(name => ({ metadata: { name } })))];
    }
    const path = url.replace(/\?.*/, '');
    if (this.forbidden.has(path)) return FORBIDDEN;
    const answer = this.answers.get(path);
    return answer === undefined ? [404, {}] : [200, answer];
  }

  /** Objects of one kind of the API, as their list. */
  list(path: string, apiVersion: string, kind: string, items: readonly object[]): void {
    this.answers.set(path, { ...listOf(`${kind}List`, items), apiVersion });
  }

  #upgrade({ url = '', headers }: IncomingMessage, socket: Duplex): void {
    this.#sockets.add(socket);
    if (!this.rights.exec) {
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    const accept = createHash('sha1')
      .update(`${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64');
    const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
    const own = [`Sec-WebSocket-Accept: ${accept}`, 'Sec-WebSocket-Protocol: v4.channel.k8s.io'];
    const accepted = () => {
      socket.write(`${[...lines, ...own].join('\r\n')}\r\n\r\n`);
      this.sessions.push(new Session(new URL(url, 'http://here'), socket));
    };
    if (this.handshakes === undefined) accepted();
    else this.handshakes.push(accepted);
  }
}

const listOf = (kind: string, items: readonly object[]) => ({
  ...{ kind, apiVersion: 'v1', items },
  metadata: { resourceVersion: '1' },
});

const FORBIDDEN: [number, object] = [
  403,
  { kind: 'Status', status: 'Failure', message: 'pods is forbidden: User "eve" cannot list resource "pods"' },
];

function pod(node: string): object {
  const labels = { 'app.kubernetes.io/name': 'sluice' };
  return {
    metadata: { name: `sluice-${node}`, namespace: 'sluice', labels },
    spec: { nodeName: node, containers: [{ name: 'sluice' }] },
    status: { phase: 'Running' },
  };
}
