/**
 * A resolver for the zone of the tests, over UDP and TCP, in the network namespace in which it is started, at the port
 * of its first argument or 53. For `f2000.t.example` it sends 2,000 answers over UDP, ten a millisecond, each with
 * other addresses, and prints `flooded` after the last.
 */
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';
import packet, { type Packet } from 'dns-packet';
import { EDNS } from './edns.ts';
import { lookUp } from './zone.ts';

const PORT = Number(process.argv[2] ?? 53);
const TRUNCATED = 0x200;
const [SERVFAIL, NXDOMAIN] = [2, 3];
const SLOW_MS = 400;
const FLOOD = { perTurn: 10, addresses: 20 } as const;

function reply(message: Buffer, isTcp: boolean): Buffer {
  const query = packet.decode(message);
  const [question] = query.questions ?? [];
  const type = question?.type === 'AAAA' ? 'AAAA' : 'A';
  const answers = lookUp(question?.name ?? '', type);
  const cut = !isTcp && /^t\d/.test(question?.name ?? '');
  const failure = /^s\d/.test(question?.name ?? '') ? SERVFAIL : NXDOMAIN;
  return packet.encode({
    type: 'response',
    id: query.id ?? 0,
    flags: 0x180 | (answers === undefined ? failure : 0) | (cut ? TRUNCATED : 0),
    questions: query.questions ?? [],
    answers: cut ? [] : (answers ?? []),
    additionals: query.additionals?.length ? [EDNS] : [],
  } as Packet);
}

/** Names that begin with w are answered late. */
function delayOf(message: Buffer): number {
  return /^w\d/.test(packet.decode(message).questions?.[0]?.name ?? '') ? SLOW_MS : 0;
}

/** Until all are sent; each answer has addresses of its own. Encoded once: what it costs to send is not what is tried. */
async function flood(message: Buffer, count: number, send: (bytes: Buffer) => void): Promise<void> {
  const { id = 0, questions = [] } = packet.decode(message);
  const answer = { type: 'A', name: questions[0]?.name ?? '', ttl: 0, data: '11.0.0.0' } as const;
  const encoded = (many: number) => {
    const answers = new Array(many).fill(answer);
    return packet.encode({ type: 'response', id, flags: 0x180, questions, answers } as Packet);
  };
  const first = encoded(FLOOD.addresses);
  const recordBytes = (first.length - encoded(0).length) / FLOOD.addresses;
  for (let sent = 0; sent < count; sent += FLOOD.perTurn) {
    for (let i = sent; i < sent + FLOOD.perTurn; i++) {
      const bytes = Buffer.from(first);
      for (let j = 0; j < FLOOD.addresses; j++)
        bytes.writeUIntBE(i * FLOOD.addresses + j, bytes.length - j * recordBytes - 3, 3);
      send(bytes);
    }
    await new Promise(resolve => setTimeout(resolve, 1));
  }
  process.stdout.write('flooded\n');
}

for (const family of ['udp4', 'udp6'] as const) {
  const socket = createSocket({ type: family, ipv6Only: family === 'udp6' });
  socket.on('message', (message, { address, port }) => {
    try {
      const [, count] = /^f(\d+)\./.exec(packet.decode(message).questions?.[0]?.name ?? '') ?? [];
      if (count !== undefined) void flood(message, Number(count), bytes => socket.send(bytes, port, address));
      else {
        const bytes = reply(message, false);
        setTimeout(() => socket.send(bytes, port, address), delayOf(message));
      }
    } catch {
      // A message that is no question gets no answer.
    }
  });
  socket.bind(PORT);
}
const server = createServer(connection => {
  let received = Buffer.alloc(0);
  connection.on('error', () => {});
  connection.on('data', data => {
    received = Buffer.concat([received, data]);
    while (received.length >= 2 && received.length >= 2 + received.readUInt16BE()) {
      const end = 2 + received.readUInt16BE();
      const bytes = reply(received.subarray(2, end), true);
      const length = Buffer.from([bytes.length >> 8, bytes.length & 255]);
      connection.write(length);
      connection.write(bytes.subarray(0, 5));
      connection.write(bytes.subarray(5));
      received = received.subarray(end);
    }
  });
});
server.listen(PORT, '::', () => process.stdout.write('ready\n'));
