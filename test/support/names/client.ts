/**
 * A pod's program: looks names up one after another, and connects to the addresses at once. Its one argument is JSON
 * with its orders; it writes the results as one line of JSON.
 */
import { createSocket } from 'node:dgram';
import { connect, isIP } from 'node:net';
import packet from 'dns-packet';
import { EDNS } from './edns.ts';
import type { ClientOrders, ClientReport } from './ground.ts';
import { repeatedFirstPackets } from './repeated.ts';

const { resolver, names, type, byTcp, attempts, patienceMs, port, answerMs, rounds, pauseMs } = JSON.parse(
  process.argv[2]!,
) as ClientOrders;
const before = repeatedFirstPackets();
const report: ClientReport = {
  asked: 0,
  unanswered: 0,
  repeated: [],
  connected: [],
  failed: [],
  misses: [],
  lost: 0,
  longestMs: 0,
};
for (const name of names) {
  await visit(name);
  if (pauseMs > 0) await new Promise(resolve => setTimeout(resolve, pauseMs));
}
report.lost = repeatedFirstPackets() - before;
process.stdout.write(`${JSON.stringify(report)}\n`);
process.exit(0);

async function visit(name: string): Promise<void> {
  for (let round = 1; ; round++) {
    const atMs = Date.now();
    const made = await visitOnce(name);
    if (made) report.connected.push(name);
    else report.misses.push({ name, fromMs: atMs, toMs: Date.now() });
    if (made) return;
    if (round >= rounds) break;
  }
  report.failed.push(name);
}

async function visitOnce(name: string): Promise<boolean> {
  report.asked++;
  const startMs = performance.now();
  const address = await resolve(name);
  report.longestMs = Math.max(report.longestMs, performance.now() - startMs);
  return address !== undefined && (await connectTo(address));
}

function connectTo(address: string): Promise<boolean> {
  return new Promise(done => {
    const connection = connect({ host: address, port: 80 });
    const end = (result: boolean) => {
      connection.destroy();
      done(result);
    };
    connection.on('connect', () => end(true));
    connection.on('error', () => end(false));
    setTimeout(() => end(false), patienceMs).unref();
  });
}

/** An address is not asked for. */
async function resolve(name: string): Promise<string | undefined> {
  if (isIP(name) !== 0) return name;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const fromMs = Date.now();
    const answer = await ask(name);
    if (answer === undefined) report.repeated.push({ name, fromMs, toMs: Date.now() });
    if (answer === undefined) continue;
    const { answers = [] } = packet.decode(answer);
    const found = answers.find(each => each.type === type);
    return found !== undefined && 'data' in found ? String(found.data) : undefined;
  }
  report.unanswered++;
  return undefined;
}

/** Asks like a stub resolver: with EDNS, and again by TCP if the answer was truncated. */
async function ask(name: string): Promise<Buffer | undefined> {
  if (byTcp) return askTcp(name);
  const answer = await askUdp(name);
  return answer !== undefined && packet.decode(answer).flag_tc ? askTcp(name) : answer;
}

function question(name: string): Buffer {
  return packet.encode({
    type: 'query',
    id: 7,
    flags: 0x100,
    questions: [{ type, name }],
    additionals: [EDNS],
  });
}

function askUdp(name: string): Promise<Buffer | undefined> {
  const socket = createSocket(resolver.includes(':') ? 'udp6' : 'udp4');
  return new Promise(done => {
    const end = (answer?: Buffer) => {
      socket.close();
      done(answer);
    };
    const timer = setTimeout(() => end(), answerMs);
    socket.on('message', answer => {
      clearTimeout(timer);
      end(answer);
    });
    if (port !== 0) socket.bind(port);
    socket.send(question(name), 53, resolver);
  });
}

function askTcp(name: string): Promise<Buffer | undefined> {
  return new Promise(done => {
    const connection = connect({ host: resolver, port: 53 });
    let received = Buffer.alloc(0);
    connection.on('error', () => done(undefined));
    connection.on('connect', () => {
      const bytes = question(name);
      connection.write(Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]));
    });
    connection.on('data', data => {
      received = Buffer.concat([received, data]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE()) return;
      connection.destroy();
      done(received.subarray(2));
    });
  });
}
