/** The process behind `Prober`. */
import { connect } from 'node:net';
import type { Attempt, ProbeOrders } from './prober.ts';

let done: Attempt[] = [];
let underWay = 0;
let stopping = false;

process.on('message', (message: ProbeOrders | 'stop') => {
  if (message === 'stop') {
    stopping = true;
    return;
  }
  process.send!('started');
  setInterval(() => tick(message), message.intervalMs);
});
process.on('disconnect', () => process.exit(0));
setInterval(report, 5);

function tick({ flows, limitMs }: ProbeOrders): void {
  if (stopping) return;
  flows.forEach(({ address, port }, flow) => {
    open(address, port, flow, limitMs);
  });
}

function open(address: string, port: number, flow: number, limitMs: number): void {
  const start = performance.now();
  const startMs = performance.timeOrigin + start;
  const socket = connect({ host: address, port });
  // Of a process that was not run for so long, the answer may be waiting: it is heard first.
  const timer = setTimeout(() => setImmediate(() => end(false)), limitMs);
  underWay++;
  let ended = false;
  const end = (isOpen: boolean) => {
    if (ended) return;
    ended = true;
    clearTimeout(timer);
    socket.destroy();
    underWay--;
    done.push({ flow, startMs, tookMs: performance.now() - start, open: isOpen });
  };
  socket.on('connect', () => end(true));
  socket.on('error', () => end(false));
}

function report(): void {
  if (done.length > 0) process.send!(done);
  done = [];
  if (stopping && underWay === 0) process.disconnect();
}
