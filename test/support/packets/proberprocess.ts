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
import { address } from '../../../bench/lab/topology.ts';
import { nextTurn } from '../../../src/lib/async/eventloopyield.ts';
import { type Address, familyOf } from '../../../src/model/address.ts';
import type { LocatedFlow, ProberOrder, Trail } from './prober.ts';

const AT_ONCE = 8;
/** From the sender to the node, and on to the receiver; and one more, by which the last has been read. */
const HOPS = 3;
const MARKER = socketAddress(address('127.0.0.1'), 9);

class Path {
  readonly #sender: Fd;
  readonly #arrived: [number, number][] = [];
  readonly #packet = Buffer.alloc(8);
  #sent = 0;

  constructor({ from, to, port, fromNamespace }: LocatedFlow, index: number) {
    this.#sender = inNamespace(fromNamespace, () => socket(domainOf(to), SOCK_DGRAM));
    bind(this.#sender, socketAddress(from));
    connect(this.#sender, socketAddress(to, port));
    this.#packet.writeUInt32LE(index, 4);
  }

  get sent(): number {
    return this.#sent;
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
function receiversOf(orders: readonly LocatedFlow[]): Fd[] {
  const endpoints = Map.groupBy(orders, ({ to, port }) => `${to} ${port}`);
  return Array.from(endpoints.values(), ([order]) => receiverOf(order!));
}

function receiverOf({ to, port, toNamespace }: LocatedFlow): Fd {
  const fd = inNamespace(toNamespace, () => socket(domainOf(to), SOCK_DGRAM));
  bind(fd, socketAddress(to, port));
  return fd;
}

let receivers: Fd[] = [];
let paths: Path[] = [];
let sending = true;
/** The number of packets of each flow that is waited for. */
let wanted = Number.POSITIVE_INFINITY;

process.on('message', (order: ProberOrder) => {
  if ('more' in order) wanted = paths[0]!.sent + order.more;
  else if ('stop' in order) void finish();
  else {
    receivers = receiversOf(order.flows);
    paths = order.flows.map((flow, index) => new Path(flow, index));
    tick();
    process.send!('started');
  }
});
process.on('disconnect', () => process.exit(0));

function tick(): void {
  for (let n = 0; sending && n < AT_ONCE; n++) for (const path of paths) path.send();
  receive();
  if (paths[0]!.sent >= wanted) {
    wanted = Number.POSITIVE_INFINITY;
    process.send!('sent');
  }
  setTimeout(tick, 1);
}

function receive(): void {
  for (const fd of receivers)
    for (let got = receiveFrom(fd); got !== undefined; got = receiveFrom(fd))
      paths[got.data.readUInt32LE(4)]!.arrive(got.data.readUInt32LE());
}

/** A processor takes packets from one link to the next in order: what is sent behind them all comes behind them all. */
async function finish(): Promise<void> {
  sending = false;
  const marker = socket(AF_INET, SOCK_DGRAM);
  bind(marker, MARKER);
  for (let hop = 0; hop < HOPS; hop++) {
    send(marker, Buffer.from('behind'), MARKER);
    while (receiveFrom(marker) === undefined) await nextTurn();
  }
  receive();
  process.send!(paths.map(path => path.trail()));
}
