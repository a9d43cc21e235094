/**
 * A command in a pod by the API server's `exec`: WebSocket with the subprotocol v4.channel.k8s.io, in which the first byte
 * of a message is the number of its stream.
 */
import type { IncomingMessage } from 'node:http';
import WebSocket from 'ws';
import type { Access } from '../../inputs/kube/client/access.ts';
import { agentFor } from '../../inputs/kube/client/apiserver.ts';
import { asMap, asMaps } from '../../inputs/kube/report/identity.ts';
import { deferred } from '../../lib/async/deferred.ts';
import { jsonOf } from '../../lib/text/jsonof.ts';
import { type AgentOutput, type AgentPod, HEARTBEAT_MS, STOP, type Until } from './agents.ts';

const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const STATUS = 3;
const PROTOCOL = 'v4.channel.k8s.io';

/** A node without output for so long is away, since it writes a heartbeat every other second. Also before its first. */
const SILENT_MS = 5 * HEARTBEAT_MS;

/** The server answered with another status than that of a WebSocket. */
export class Refusal extends Error {
  readonly code: number;

  constructor(code: number, text: string) {
    super(text);
    this.code = code;
  }
}

export interface Command {
  readonly namespace: string;
  readonly pod: AgentPod;
  readonly words: readonly string[];
}

/** Answers why it ended, and nothing where it ended well. Throws Refusal, and Error where it could not be run. */
export async function runIn(
  access: Access,
  command: Command,
  sink: AgentOutput,
  { end, finish }: Until,
): Promise<string | undefined> {
  const ended = deferred<string | undefined>();
  const agent = agentFor(access);
  const socket = new WebSocket(addressOf(access, command), PROTOCOL, {
    agent,
    headers: { 'user-agent': 'sluice', ...access.headers },
    perMessageDeflate: false,
  });
  // An agent that answers late is not waited for.
  const silence = setTimeout(() => ended.resolve('it does not answer'), SILENT_MS);
  const broken = () => ended.resolve('its output cannot be read');
  const stdout = linesTo(line => {
    silence.refresh();
    sink.line(line);
  }, broken);
  const stderr = linesTo(line => sink.note(line), broken);
  // Open for as long as we are: the command ends with it.
  const finishSoon = () => send(socket, STOP);
  const stop = () => ended.resolve(undefined);
  socket.on('message', (data: Buffer) => {
    const bytes = data.subarray(1);
    if (data[0] === STDOUT) stdout(bytes);
    else if (data[0] === STDERR) stderr(bytes);
    else if (data[0] === STATUS) ended.resolve(endOf(bytes, sink));
  });
  socket.on('open', () => {
    sink.open?.();
    if (finish?.aborted) finishSoon();
  });
  socket.on('unexpected-response', (_, response) => void refusalOf(response).then(ended.reject));
  socket.on('error', ended.reject);
  socket.on('close', () => ended.resolve('the connection was lost'));
  finish?.addEventListener('abort', finishSoon, { once: true });
  end.addEventListener('abort', stop, { once: true });
  try {
    return await ended.promise;
  } finally {
    clearTimeout(silence);
    end.removeEventListener('abort', stop);
    finish?.removeEventListener('abort', finishSoon);
    // What a socket says after its end concerns nobody, and an error without a listener would end the process.
    socket.removeAllListeners().on('error', () => undefined);
    socket.terminate();
    agent.destroy();
  }
}

function addressOf({ server }: Access, { namespace, pod, words }: Command): string {
  const query = new URLSearchParams();
  for (const word of words) query.append('command', word);
  query.append('container', pod.container);
  for (const stream of ['stdin', 'stdout', 'stderr']) query.append(stream, 'true');
  const path = [namespace, pod.name].map(encodeURIComponent) as [string, string];
  return `${server.replace(/^http/, 'ws')}/api/v1/namespaces/${path[0]}/pods/${path[1]}/exec?${query}`;
}

function send(socket: WebSocket, text: string): void {
  if (socket.readyState !== WebSocket.OPEN) return;
  socket.send(Buffer.concat([Buffer.from([STDIN]), Buffer.from(text)]));
}

const LONGEST_REFUSAL = 10_000;

async function refusalOf(response: IncomingMessage): Promise<Refusal> {
  const code = response.statusCode ?? 0;
  let text = '';
  try {
    for await (const chunk of response) {
      text += chunk;
      if (text.length > LONGEST_REFUSAL) break;
    }
    const { message } = asMap(JSON.parse(text));
    if (typeof message === 'string') return new Refusal(code, message);
  } catch {
    // What cannot be read has its status alone.
  }
  return new Refusal(code, `${code} ${response.statusMessage ?? ''}`.trim());
}

/** Reads the status that the server sends when the command ends. */
function endOf(bytes: Buffer, sink: AgentOutput): string | undefined {
  const { status, message, details } = asMap(jsonOf(bytes.toString()));
  const cause = asMaps(asMap(details).causes).find(({ reason }) => reason === 'ExitCode');
  if (status === 'Success') sink.exit?.(0);
  else if (/^\d{1,3}$/.test(String(cause?.message))) sink.exit?.(Number(cause!.message));
  if (status === 'Success') return undefined;
  return typeof message === 'string' ? message : 'the command failed';
}

// Bytes in pieces as lines of text.

/** No line of ours is as long. */
const LONGEST = 1 << 20;

/** `broken`: a line without an end. */
function linesTo(take: (line: string) => void, broken: () => void): (bytes: Buffer) => void {
  const decoder = new TextDecoder();
  let begun = '';
  return bytes => {
    const parts = (begun + decoder.decode(bytes, { stream: true })).split('\n');
    begun = parts.pop()!;
    for (const part of parts) take(part);
    if (begun.length <= LONGEST) return;
    begun = '';
    broken();
  };
}
