#!/usr/bin/env node
/**
 * The CNI plugin: hands what the runtime says to the agent of this node, and prints what the agent answers. It knows
 * nothing itself, but what to say where there is no agent. This file is all of it: it can be copied anywhere.
 *
 * One gRPC call over the agent's unix socket, in as much of HTTP/2 and protobuf as that takes: to load libraries for it
 * would take longer than the call.
 */
import { readFileSync } from 'node:fs';
import { type ClientHttp2Session, connect } from 'node:http2';
import { connect as connectSocket } from 'node:net';

const VERSIONS = ['1.0.0', '1.1.0'];
const SOCKET = '/run/sluice/sluice.sock';
/** A runtime's patience is some minutes; the agent's answer takes two seconds at most. */
const DEADLINE_MS = 30_000;

const INCOMPATIBLE = 1;
const TRY_AGAIN_LATER = 11;
const NOT_AVAILABLE = 50;

interface Config {
  readonly cniVersion?: string;
  /** The agent's unix socket, where it is not the usual one. */
  readonly socket?: string;
}

const command = process.env.CNI_COMMAND ?? '';
const input = readFileSync(0, 'utf8');
const config = parsed(input);
const cniVersion = config.cniVersion ?? VERSIONS.at(-1)!;

if (command === 'VERSION') print({ cniVersion, supportedVersions: VERSIONS });
else if (!VERSIONS.includes(cniVersion))
  fail(INCOMPATIBLE, `cniVersion ${cniVersion} is not spoken here: ${VERSIONS.join(' and ')} are`);
else await ask();

async function ask(): Promise<void> {
  const socket = config.socket ?? SOCKET;
  try {
    const { output, failed } = await call(socket, request());
    process.stdout.write(output);
    process.exitCode = failed ? 1 : 0;
  } catch (error) {
    const reason = `no Sluice agent answers on ${socket}: ${(error as Error).message}`;
    // What cannot be taken away now is collected when the agent is back.
    if (command !== 'DEL') fail(command === 'STATUS' ? NOT_AVAILABLE : TRY_AGAIN_LATER, reason);
  }
}

/** sluice.v1.CniRequest. */
function request(): Buffer {
  const { CNI_CONTAINERID, CNI_NETNS, CNI_IFNAME, CNI_ARGS } = process.env;
  const values = [command, CNI_CONTAINERID, CNI_NETNS, CNI_IFNAME, CNI_ARGS, input];
  return Buffer.concat(values.map((value, index) => stringField(index + 1, value ?? '')));
}

function call(path: string, message: Buffer): Promise<{ output: string; failed: boolean }> {
  return new Promise((resolve, reject) => {
    const session = connect('http://localhost', { createConnection: () => connectSocket(path) });
    const stop = (error: Error) => {
      session.destroy();
      reject(error);
    };
    session.setTimeout(DEADLINE_MS, () => stop(new Error(`nothing for ${DEADLINE_MS / 1000} s`)));
    session.on('error', stop);
    exchange(session, message).then(answer => {
      session.close();
      resolve(answer);
    }, stop);
  });
}

async function exchange(session: ClientHttp2Session, message: Buffer) {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/sluice.v1.Sluice/Cni',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  let status: { code: string; text: string } | undefined;
  const note = (headers: Readonly<Record<string, unknown>>) => {
    const code = headers['grpc-status'];
    if (code !== undefined)
      status = { code: String(code), text: decodeURIComponent(String(headers['grpc-message'] ?? '')) };
  };
  stream.on('response', note);
  stream.on('trailers', note);
  const frame = Buffer.alloc(5); // not compressed, then the length
  frame.writeUInt32BE(message.length, 1);
  stream.end(Buffer.concat([frame, message]));
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  if (status?.code !== '0') throw new Error(status?.text || `the connection broke off`);
  return answerOf(Buffer.concat(chunks).subarray(5));
}

/** sluice.v1.CniResponse: `output` is field 1, `failed` field 2. */
function answerOf(bytes: Buffer): { output: string; failed: boolean } {
  let [output, failed, at] = ['', false, 0];
  const varint = () => {
    let value = 0;
    for (let shift = 1; at < bytes.length; shift *= 128) {
      const byte = bytes[at++]!;
      value += (byte & 0x7f) * shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (at < bytes.length) {
    const tag = varint();
    const value = varint();
    if (tag === 0x10) failed = value !== 0;
    if ((tag & 7) !== 2) continue;
    if (tag === 0x0a) output = bytes.toString('utf8', at, at + value);
    at += value;
  }
  return { output, failed };
}

function stringField(number: number, text: string): Buffer {
  const bytes = Buffer.from(text);
  const head = [(number << 3) | 2];
  let length = bytes.length;
  for (; length > 0x7f; length = Math.floor(length / 128)) head.push((length & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([...head, length]), bytes]);
}

/** What is no JSON is the agent's to complain of. */
function parsed(text: string): Config {
  try {
    return (JSON.parse(text) ?? {}) as Config;
  } catch {
    return {};
  }
}

function fail(code: number, msg: string): void {
  print({ cniVersion, code, msg });
  process.exitCode = 1;
}

function print(value: object): void {
  process.stdout.write(JSON.stringify(value));
}
