/** A resolver for the zone of the tests, over UDP and TCP, in whatever network namespace it is started. */
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';
import packet, { type Packet } from 'dns-packet';
import { lookUp } from './zone.ts';

const TRUNCATED = 0x200;
const NXDOMAIN = 3;

function reply(message: Buffer, isTcp: boolean): Buffer {
  const query = packet.decode(message);
  const [question] = query.questions ?? [];
  const type = question?.type === 'AAAA' ? 'AAAA' : 'A';
  const answers = lookUp(question?.name ?? '', type);
  const cut = !isTcp && /^t\d/.test(question?.name ?? '');
  return packet.encode({
    type: 'response',
    id: query.id ?? 0,
    flags: 0x180 | (answers === undefined ? NXDOMAIN : 0) | (cut ? TRUNCATED : 0),
    questions: query.questions ?? [],
    answers: cut ? [] : (answers ?? []),
  } as Packet);
}

for (const family of ['udp4', 'udp6'] as const) {
  const socket = createSocket({ type: family, ipv6Only: family === 'udp6' });
  socket.on('message', (message, { address, port }) => {
    try {
      socket.send(reply(message, false), port, address);
    } catch {
      // What is no question is not answered.
    }
  });
  socket.bind(53);
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
server.listen(53, '::', () => process.stdout.write('ready\n'));
