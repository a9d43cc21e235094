/**
 * The answer thread: a loop around DnsAnswerHandler. It never returns to its event loop, so that nothing delays the
 * verdict of a packet; messages of the main thread are fetched when their eventfd is readable.
 */
import { readSync } from 'node:fs';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { DnsAnswerHandler } from './answerhandler.ts';
import { fixed, poll } from './libc.ts';
import type { AnswerThreadOptions, ToThread } from './messages.ts';
import { QueueSocket } from './queuesocket.ts';

const orders = workerData as AnswerThreadOptions;
const { wake } = orders;
const queue = new QueueSocket(orders.queue);
const desk = new DnsAnswerHandler(queue, orders, message => parentPort!.postMessage(message));

const POLLIN = 1;
const POLL_ENTRY = 8;
const counter = Buffer.alloc(8);
const watched = fixed(2 * POLL_ENTRY);
for (const [i, fd] of [queue.fd, wake].entries()) {
  watched.bytes.writeInt32LE(fd, i * POLL_ENTRY);
  watched.bytes.writeInt16LE(POLLIN, i * POLL_ENTRY + 4);
}

/** While answers come one after another, the agent's messages are looked for as often as that. */
const LOOK_MS = 10;
let lookedMs = 0;

/** Answers whether to go on. */
function turn(): boolean {
  const isBusy = desk.isBusy && performance.now() - lookedMs < LOOK_MS;
  if (!isBusy) poll(watched.at, 2, desk.dueInMs());
  desk.work(isBusy);
  return isBusy || obeyAll();
}

/** Handles the messages of the agent that have arrived by the last poll. */
function obeyAll(): boolean {
  lookedMs = performance.now();
  if (watched.bytes.readInt16LE(POLL_ENTRY + 6) === 0) return true;
  readSync(wake, counter);
  for (
    let next = receiveMessageOnPort(parentPort!);
    next !== undefined;
    next = receiveMessageOnPort(parentPort!)
  )
    if (!desk.obey(next.message as ToThread)) return false;
  return true;
}

try {
  while (turn());
} finally {
  desk.close();
}
