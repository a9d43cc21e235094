import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { errorText } from '../../../lib/text/errortext.ts';
import type { Access, LoadAccess } from './access.ts';
import {
  type Api,
  ApiError,
  type Creator,
  type Editor,
  type Patcher,
  type Query,
  statusError,
} from './api.ts';

// `import` would read all that the module exports, and to read its WebSocket loads undici: 10 MB (measured).
const require = createRequire(import.meta.url);
const http: typeof import('node:http') = require('node:http');
const https: typeof import('node:https') = require('node:https');

export interface Patience {
  /** Limit until the server has accepted a connection. */
  readonly connectMs: number;
  /** Limit until the first byte of an answer. */
  readonly answerMs: number;
  /**
   * For the next byte. The server sends each watch a bookmark once a minute, so a silent watch is a dead one: also where
   * a load balancer still answers the probes of TCP for a server that is gone.
   */
  readonly silenceMs: number;
  /** For the end of a watch, beyond the time that the server was asked to end it after. */
  readonly overdueMs: number;
  /**
   * For the end of any other answer: a server takes a minute for one at most (its `--request-timeout`), and one that comes byte
   * by byte would be neither read nor lost.
   */
  readonly wholeMs: number;
}

const PATIENCE: Patience = {
  connectMs: 4_000,
  answerMs: 30_000,
  silenceMs: 75_000,
  overdueMs: 3_000,
  wholeMs: 180_000,
};
/**
 * TCP keep-alive finds a server that vanished without closing its connections, and costs neither side a request: the
 * first probe is sent after this much silence, and 11 s after the last sign of life the connection is closed. A new
 * connection is given up after as short a time. So 20 s after the server vanished, its source is known to be lost.
 */
const PROBES = { firstMs: 5_000, intervalMs: 2_000, count: 3 };

interface Session {
  readonly access: Access;
  readonly agent: Agent;
}

interface Change {
  readonly method: 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  readonly type?: string;
  readonly body?: string;
}

interface Question {
  readonly path: string;
  readonly query: Query;
  readonly signal: AbortSignal;
  /** The body to write; without it this is a GET. */
  readonly change?: Change;
}

/** The API server over HTTP/1.1: a connection for each watch, so that one that stalls holds up no other. */
export class ApiServer implements Api, Creator, Patcher, Editor {
  readonly #load: LoadAccess;
  readonly #patience: Patience;
  #session: Promise<Session> | undefined;

  constructor(load: LoadAccess, patience: Partial<Patience> = {}) {
    this.#load = load;
    this.#patience = { ...PATIENCE, ...patience };
  }

  async get(path: string, query: Query, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    return bodyOf(await this.#ask({ path, query, signal }), path);
  }

  create(path: string, object: object, signal: AbortSignal): Promise<void> {
    return this.#change({ path, query: {}, signal, change: { method: 'POST', ...asJson(object) } });
  }

  patch(path: string, change: object, signal: AbortSignal): Promise<void> {
    const merge = { ...asJson(change), type: 'application/strategic-merge-patch+json' };
    return this.#change({ path, query: {}, signal, change: { method: 'PATCH', ...merge } });
  }

  replace(path: string, object: object, signal: AbortSignal): Promise<void> {
    return this.#change({ path, query: {}, signal, change: { method: 'PUT', ...asJson(object) } });
  }

  remove(path: string, query: Query, signal: AbortSignal): Promise<void> {
    return this.#change({ path, query, signal, change: { method: 'DELETE' } });
  }

  async #change(question: Question): Promise<void> {
    const answer = await this.#ask(question);
    // Read to its end, so that the connection can be used again.
    for await (const _ of bodyOf(answer, question.path));
  }

  /** Idle connections would keep the process. */
  async close(): Promise<void> {
    const session = await this.#session?.catch(() => undefined);
    session?.agent.destroy();
  }

  #current(): Promise<Session> {
    this.#session ??= this.#load().then(
      access => ({ access, agent: agentFor(access) }),
      cause => {
        this.#session = undefined;
        throw new ApiError('unreachable', errorText(cause), { cause });
      },
    );
    return this.#session;
  }

  /** The next request reads the access again, unless another request has seen to that already. */
  #renew(outdated: Promise<Session>): void {
    if (this.#session === outdated) this.#session = undefined;
  }

  async #ask(question: Question): Promise<IncomingMessage> {
    const session = this.#current();
    try {
      return await this.#send(await session, question);
    } catch (error) {
      if (!mayBeOutdated(error)) throw error;
      this.#renew(session);
      if (!isUnauthorized(error)) throw error;
      return this.#send(await this.#current(), question);
    }
  }

  async #send(session: Session, question: Question): Promise<IncomingMessage> {
    const response = await this.#answer(session, question);
    if (response.statusCode === 200 || response.statusCode === 201) return response;
    throw await refusal(response, question.path);
  }

  #answer({ access, agent }: Session, { path, query, signal, change }: Question) {
    const { connectMs, answerMs, silenceMs } = this.#patience;
    const url = `${access.server}${path}?${new URLSearchParams(query)}`;
    const { method, type, body }: Partial<Change> = change ?? {};
    const headers = {
      accept: 'application/json',
      'user-agent': 'sluice',
      ...(type && { 'content-type': type }),
      ...access.headers,
    };
    return new Promise<IncomingMessage>((resolve, reject) => {
      const request = send(url, { method: method ?? 'GET', agent, headers, signal, timeout: answerMs });
      request.on('socket', socket => watchSocket(socket, connectMs));
      request.on('timeout', () => request.destroy(new Error(`no answer within ${answerMs / 1000} s`)));
      request.on('error', cause =>
        reject(new ApiError('unreachable', `${access.server}: ${errorText(cause)}`, { cause })),
      );
      request.on('response', response => {
        request.removeAllListeners('timeout');
        response.setTimeout(silenceMs, () => response.destroy(new Error(`silent for ${silenceMs / 1000} s`)));
        endInTime(response, query, this.#patience);
        resolve(response);
      });
      request.end(body);
    });
  }
}

function asJson(object: object): Pick<Change, 'type' | 'body'> {
  return { type: 'application/json', body: JSON.stringify(object) };
}

/** A watch that does not end at the time at which the server was asked to end it has no server any more. */
function endInTime(
  response: IncomingMessage,
  { watch, timeoutSeconds }: Query,
  { overdueMs, wholeMs }: Patience,
): void {
  const isWatch = watch === 'true';
  if (!isWatch) endAfter(response, wholeMs, `an answer has not ended within ${wholeMs / 1000} s`);
  else if (timeoutSeconds !== undefined) {
    const ms = Number(timeoutSeconds) * 1000 + overdueMs;
    endAfter(response, ms, `a watch of ${timeoutSeconds} s has not ended`);
  }
}

function endAfter(response: IncomingMessage, ms: number, why: string): void {
  const timer = setTimeout(() => response.destroy(new Error(why)), ms);
  response.once('close', () => clearTimeout(timer));
}

/** Destroys the socket if it does not connect in time, or if the other side no longer answers probes. */
function watchSocket(socket: Socket, connectMs: number): void {
  if (!socket.connecting) return; // One that is used again has it all.
  const late = setTimeout(
    () => socket.destroy(new Error(`not connected within ${connectMs / 1000} s`)),
    connectMs,
  );
  const connected = () => {
    clearTimeout(late);
    (socket.setKeepAlive as KeepAlive).call(socket, true, PROBES.firstMs, PROBES.intervalMs, PROBES.count);
  };
  socket.once('connect', connected);
  socket.once('close', () => clearTimeout(late));
}

/** Node 24.16 also accepts the interval and the number of probes; its types do not have them yet. */
type KeepAlive = (enable: boolean, firstMs: number, intervalMs: number, count: number) => void;

function send(url: string, options: RequestOptions): ClientRequest {
  return url.startsWith('https:') ? https.request(url, options) : http.request(url, options);
}

/** Opens connections to the server of an access, through its proxy where there is one. */
export function agentFor({ server, proxy, ca, cert, key, servername, rejectUnauthorized }: Access): Agent {
  const options = {
    keepAlive: true,
    keepAliveMsecs: PROBES.firstMs,
    ...(proxy !== undefined && { proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy } }),
  };
  if (!server.startsWith('https:')) return new http.Agent(options);
  const tls = { ca, cert, key, servername, rejectUnauthorized };
  return new https.Agent({
    ...options,
    ...Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined)),
  });
}

async function* bodyOf(response: IncomingMessage, path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* response;
  } catch (cause) {
    throw new ApiError('cut', `${path}: the connection was cut: ${errorText(cause)}`, { cause });
  }
}

const LONGEST_REFUSAL = 100_000;
/** A balancer's page for a server that is away asks for an hour, and the server is back in a minute. */
const LONGEST_PAUSE_S = 30;

async function refusal(response: IncomingMessage, path: string): Promise<ApiError> {
  const code = response.statusCode ?? 0;
  const seconds = Number(response.headers['retry-after'] ?? 0);
  const retryAfterMs = seconds > 0 ? Math.min(seconds, LONGEST_PAUSE_S) * 1000 : 0;
  const said = await statusOf(response);
  const words = said === undefined ? '' : `: ${said.message}`;
  return new ApiError(code, `${path}: ${code} ${response.statusMessage}${words}`, {
    retryAfterMs,
    sentence: said?.sentence,
  });
}

/** The error in the server's own words: `pods is forbidden: User "x" cannot list resource "pods"`. */
async function statusOf(response: IncomingMessage): Promise<ApiError | undefined> {
  let text = '';
  try {
    for await (const chunk of response) {
      text += chunk;
      if (text.length > LONGEST_REFUSAL) break;
    }
    return statusError(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof ApiError && error.code === 401;
}

/** A token that is refused, or a certificate that does not match ours, may have been replaced in the files. */
function mayBeOutdated(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  const { code } = (error.cause ?? {}) as NodeJS.ErrnoException;
  return (
    error.code === 401 || (error.code === 'unreachable' && /CERT|SSL|TLS|SELF_SIGNED|VERIFY/.test(code ?? ''))
  );
}
