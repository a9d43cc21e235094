/** The process behind `Prober`. */
import {
  AF_INET,
  AF_INET6,
  bind,
  connect,
  type Fd,
  receive as receiveFrom,
  SOCK_DGRAM,
  send,
  socket,
} from '../../../bench/lab/libc.ts';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { socketAddress } from '../../../bench/lab/probe/sockaddr.ts';
import { type Address, familyOf } from '../../../src/model/address.ts';
import type { ProberOrders, Trail } from './prober.ts';

const AT_ONCE = 8;
const SETTLE_MS = 200;

type Order = ProberOrders['flows'][number];

class Path {
  readonly #sender: Fd;
  readonly #arrived: [number, number][] = [];
  readonly #packet = Buffer.alloc(8);
  #sent = 0;

  constructor({ from, to, port, fromNamespace }: Order, index: number) {
    this.#sender = inNamespace(fromNamespace, () => socket(domainOf(to), SOCK_DGRAM));
    bind(this.#sender, socketAddress(from));
    connect(this.#sender, socketAddress(to, port));
    this.#packet.writeUInt32LE(index, 4);
  }

  send(): void {
    this.#packet.writeUInt32LE(this.#sent++);
    send(this.#sender, this.#packet);
  }

  arrive(number: number): void {
    const run = this.#arrived.at(-1);
    if (run !== undefined && run[1] === number - 1) run[1] = number;
    else this.#arrived.push([number, number]);
  }

  trail(): Trail {
    return { sent: this.#sent, arrived: this.#arrived };
  }
}

function domainOf(address: Address): number {
  return familyOf(address) === 'ip' ? AF_INET : AF_INET6;
}

/** One for each endpoint. */
function receiversOf(orders: readonly Order[]): Fd[] {
  const endpoints = Map.groupBy(orders, ({ to, port }) => `${to} ${port}`);
  return Array.from(endpoints.values(), ([order]) => receiverOf(order!));
}

function receiverOf({ to, port, toNamespace }: Order): Fd {
  const fd = inNamespace(toNamespace, () => socket(domainOf(to), SOCK_DGRAM));
  bind(fd, socketAddress(to, port));
  return fd;
}

let receivers: Fd[] = [];
let paths: Path[] = [];
let sending = true;

process.on('message', (message: ProberOrders | 'stop') => {
  if (message === 'stop') {
    sending = false;
    setTimeout(finish, SETTLE_MS);
    return;
  }
  receivers = receiversOf(message.flows);
  paths = message.flows.map((flow, index) => new Path(flow, index));
  tick();
  process.send!('started');
});
process.on('disconnect', () => process.exit(0));

function tick(): void {
  for (let n = 0; sending && n < AT_ONCE; n++) for (const path of paths) path.send();
  receive();
  setTimeout(tick, 1);
}

function receive(): void {
  for (const fd of receivers)
    for (let got = receiveFrom(fd); got !== undefined; got = receiveFrom(fd))
      paths[got.data.readUInt32LE(4)]!.arrive(got.data.readUInt32LE());
}

function finish(): void {
  receive();
  process.send!(paths.map(path => path.trail()));
}
