/** The end of `uninterrupted` that asks: over each call a question every few milliseconds. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Call, Talk } from './telephone.ts';

interface Line {
  asked: number;
  answered: number;
  end?: string;
  ask(): void;
}

const INTERVAL_MS = 5;
const PATIENCE_MS = 30_000;
const QUESTION = 'GET /hostname HTTP/1.1\r\nHost: pod\r\n\r\n';

async function tcp({ address, port }: Call): Promise<Line> {
  const socket = connect({ host: address, port, noDelay: true });
  const line: Line = { asked: 0, answered: 0, ask: () => socket.write(QUESTION) };
  socket.on('data', data => {
    line.answered += data.toString('latin1').split('HTTP/1.1 200').length - 1;
  });
  socket.on('error', error => {
    line.end = error.message;
  });
  socket.on('close', () => {
    line.end ??= 'closed';
  });
  await once(socket, 'connect');
  return line;
}

async function udp({ address, port }: Call): Promise<Line> {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  const line: Line = { asked: 0, answered: 0, ask: () => socket.send('question') };
  socket.on('message', () => line.answered++);
  socket.on('error', error => {
    line.end = error.message;
  });
  socket.connect(port, address);
  await once(socket, 'connect');
  return line;
}

const calls: readonly Call[] = JSON.parse(process.argv[2]!);
const lines = await Promise.all(calls.map(call => (call.protocol === 'tcp' ? tcp : udp)(call)));
const talking = setInterval(() => {
  for (const line of lines) {
    line.ask();
    line.asked++;
  }
}, INTERVAL_MS);
process.send!('ready');
process.on('disconnect', () => process.exit());

await once(process, 'message');
clearInterval(talking);
const deadline = performance.now() + PATIENCE_MS;
while (lines.some(line => line.answered < line.asked) && performance.now() < deadline) await sleep(10);
process.send!(
  calls.map((call, i): Talk => {
    const { ask: _, ...said } = lines[i]!;
    return { ...call, ...said };
  }),
);
