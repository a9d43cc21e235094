/** Connections that stay open between hosts of a laboratory, by sockets of this process. */
import koffi from 'koffi';
import type { Lab } from '../../../bench/lab/lab.ts';
import {
  AF_INET,
  AF_INET6,
  bind,
  close,
  connect,
  type Fd,
  listen,
  receive,
  resetOnClose,
  SOCK_DGRAM,
  SOCK_STREAM,
  send,
  socket,
} from '../../../bench/lab/libc.ts';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { socketAddress } from '../../../bench/lab/probe/sockaddr.ts';
import { nextPort } from '../../../bench/lab/probe/sourceport.ts';
import { type Address, familyOf } from '../../../src/model/address.ts';

const libc = koffi.load(null);
const acceptCall = libc.func('int accept4(int fd, void *address, void *length, int flags)');
const SOCK_NONBLOCK = 0x800;

export interface End {
  readonly fd: Fd;
  say(text: string): void;
  /** The text that arrived since the last call. */
  received(): string;
}

export interface LiveConnection {
  readonly client: End;
  readonly server: End;
}

export interface Dial {
  readonly from: Address;
  readonly to: Address;
  readonly port: number;
  /** The address that the client dials, if it is a Service's. */
  readonly via?: { readonly address: Address; readonly port: number };
}

/** All sockets that a test opens, which are closed together. */
export class Telephones {
  readonly #lab: Lab;
  readonly #open: Fd[] = [];

  constructor(lab: Lab) {
    this.#lab = lab;
  }

  /** A TCP connection on which both sides have received data. */
  async tcp(dial: Dial): Promise<LiveConnection> {
    const listener = this.#socket(dial.to, SOCK_STREAM, fd => {
      bind(fd, socketAddress(dial.to, dial.port));
      listen(fd, 8);
    });
    const client = this.#dial(dial, SOCK_STREAM);
    const server = await until(() => {
      const fd: number = acceptCall(listener, null, null, SOCK_NONBLOCK);
      return fd < 0 ? undefined : fd;
    }, 3000);
    if (server === undefined) throw new Error(`${dial.from} cannot connect to ${dial.to}:${dial.port}`);
    this.#open.push(server);
    resetOnClose(server);
    resetOnClose(client);
    return this.#introduced({ client: tcpEnd(client), server: tcpEnd(server) }, dial);
  }

  /** A UDP exchange with one datagram and its answer. */
  async udp(dial: Dial): Promise<LiveConnection> {
    const serverFd = this.#socket(dial.to, SOCK_DGRAM, fd => bind(fd, socketAddress(dial.to, dial.port)));
    const client = tcpEnd(this.#dial(dial, SOCK_DGRAM));
    return this.#introduced({ client, server: udpServer(serverFd) }, dial);
  }

  /** Sends a datagram that the server may have received, and waits for no answer. */
  asked(dial: Dial): LiveConnection {
    const serverFd = this.#socket(dial.to, SOCK_DGRAM, fd => bind(fd, socketAddress(dial.to, dial.port)));
    const client = tcpEnd(this.#dial(dial, SOCK_DGRAM));
    client.say('anybody?');
    return { client, server: udpServer(serverFd) };
  }

  /** Sends a datagram to a port without a listener. */
  unanswered(dial: Dial): void {
    send(this.#dial(dial, SOCK_DGRAM), Buffer.from('anybody?'));
  }

  close(): void {
    for (const fd of this.#open.splice(0)) close(fd);
  }

  async #introduced(connection: LiveConnection, { from, to, port }: Dial): Promise<LiveConnection> {
    if (!(await answers(connection, 3000))) throw new Error(`${from} gets no answer from ${to}:${port}`);
    return connection;
  }

  #dial({ from, to, port, via }: Dial, type: number): Fd {
    const target = via ?? { address: to, port };
    return this.#socket(from, type, fd => {
      bind(fd, socketAddress(from, nextPort()));
      connect(fd, socketAddress(target.address, target.port));
    });
  }

  #socket(at: Address, type: number, make: (fd: Fd) => void): Fd {
    const domain = familyOf(at) === 'ip' ? AF_INET : AF_INET6;
    const fd = inNamespace(this.#lab.namespaceOf(at), () => socket(domain, type));
    this.#open.push(fd);
    make(fd);
    return fd;
  }
}

function tcpEnd(fd: Fd): End {
  return { fd, say: text => send(fd, Buffer.from(text)), received: () => drain(fd).text };
}

/** A server that answers the client that sent last. */
function udpServer(fd: Fd): End {
  let peer: Uint8Array | undefined;
  return {
    fd,
    say: text => send(fd, Buffer.from(text), peer ?? null),
    received: () => {
      const { text, from } = drain(fd);
      peer = from ?? peer;
      return text;
    },
  };
}

function drain(fd: Fd): { text: string; from?: Uint8Array } {
  let text = '';
  let from: Uint8Array | undefined;
  for (
    let datagram = receive(fd);
    datagram !== undefined && datagram.data.length > 0;
    datagram = receive(fd)
  ) {
    text += datagram.data.toString();
    from = datagram.from;
  }
  return { text, ...(from !== undefined && { from }) };
}

/** Whether the client's question reaches the server, and the server's answer the client. */
export async function answers({ client, server }: LiveConnection, ms = 700): Promise<boolean> {
  return (await reaches(client, server, ms)) && (await reaches(server, client, ms));
}

let said = 0;

/** Whether what one end says arrives at the other in time. */
export async function reaches(from: End, to: End, ms = 700): Promise<boolean> {
  const word = `<${said++}>`;
  from.say(word);
  let text = '';
  const isReceived = await until(() => {
    text += to.received();
    return text.includes(word) || undefined;
  }, ms);
  return isReceived === true;
}

export async function until<T>(look: () => T | undefined, ms: number): Promise<T | undefined> {
  const deadline = performance.now() + ms;
  for (;;) {
    const found = look();
    if (found !== undefined || performance.now() > deadline) return found;
    await new Promise(resolve => setTimeout(resolve, 2));
  }
}
