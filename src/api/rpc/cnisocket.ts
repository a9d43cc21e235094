/**
 * The socket for `sluice-cni`, beside that of gRPC. One exchange for each connection; its format is in
 * src/network/cni/sluice-cni.c.
 */
import { createServer, type Server, type Socket } from 'node:net';
import type { CniAnswer } from '../../network/cni/cni.ts';
import type { CniRequest } from '../../network/cni/cnirequest.ts';
import { placeSocket } from './socketfile.ts';

const MAGIC = Buffer.from('cni1');
const HEADER = 8;
const LARGEST = 1024 * 1024;
/** The most callers at a time; further ones are disconnected, and the plugin tells the runtime to retry. */
const MOST_CALLERS = 200;
/** Limit for one exchange: the plugin connects when its request is complete, and reads the answer at once. */
const PATIENCE_MS = 5000;

export interface CniSocket {
  close(): Promise<void>;
}

/** `/run/sluice/sluice.sock`: `/run/sluice/sluice-cni.sock`. */
export function cniSocketOf(socket: string): string {
  return `${socket.replace(/\.sock$/, '')}-cni.sock`;
}

/** Throws SocketInUse where an agent is alive. `answer` must not throw. */
export async function serveCni(
  path: string,
  answer: (request: CniRequest) => Promise<CniAnswer>,
): Promise<CniSocket> {
  const callers = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, caller => {
    callers.add(caller);
    caller.on('close', () => callers.delete(caller));
    caller.on('error', () => caller.destroy());
    void serveCaller(caller, answer);
  });
  server.maxConnections = MOST_CALLERS;
  const placed = await placeSocket(path, {
    listen: at => listen(server, at),
    stop: () => server.close(),
  });
  return {
    close: async () => {
      await placed.remove();
      server.close();
      for (const caller of callers) caller.destroy();
    },
  };
}

async function serveCaller(caller: Socket, answer: (request: CniRequest) => Promise<CniAnswer>) {
  const asked = await readRequest(caller);
  if (asked === undefined) return void caller.destroy();
  caller.end(framed(await answer(asked)));
  caller.setTimeout(PATIENCE_MS, () => caller.destroy());
}

/** Reads a request; undefined if it is none. */
function readRequest(caller: Socket): Promise<CniRequest | undefined> {
  return new Promise(resolve => {
    let bytes: Buffer = Buffer.alloc(0);
    const done = (request: CniRequest | undefined) => {
      clearTimeout(timer);
      caller.off('data', take);
      resolve(request);
    };
    const take = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      if (bytes.length < HEADER) return;
      const end = HEADER + bytes.readUInt32BE(MAGIC.length);
      if (!bytes.subarray(0, MAGIC.length).equals(MAGIC) || end > HEADER + LARGEST) done(undefined);
      else if (bytes.length >= end) done(requestIn(bytes.subarray(HEADER, end)));
    };
    const timer = setTimeout(() => done(undefined), PATIENCE_MS);
    caller.on('data', take);
    caller.on('end', () => done(undefined));
    caller.on('close', () => done(undefined));
  });
}

function requestIn(bytes: Buffer): CniRequest | undefined {
  const values: string[] = [];
  let at = 0;
  while (values.length < 5) {
    const end = bytes.indexOf(0, at);
    if (end === -1) return undefined;
    values.push(bytes.toString('utf8', at, end));
    at = end + 1;
  }
  const [command, container_id, netns, ifname, args] = values as [string, string, string, string, string];
  return { command, container_id, netns, ifname, args, config: bytes.toString('utf8', at) };
}

function framed({ output, failed }: CniAnswer): Buffer {
  const body = Buffer.from(`\0${output}`);
  body[0] = failed ? 1 : 0;
  const header = Buffer.alloc(HEADER);
  MAGIC.copy(header);
  header.writeUInt32BE(body.length, MAGIC.length);
  return Buffer.concat([header, body]);
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
}
