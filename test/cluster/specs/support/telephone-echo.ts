/** Answers every datagram with itself, of both families. */
import { createSocket } from 'node:dgram';

const socket = createSocket({ type: 'udp6', ipv6Only: false });
socket.on('message', (message, { address, port }) => socket.send(message, port, address));
socket.bind(JSON.parse(process.argv[2]!), '::', () => process.send!('ready'));
process.on('disconnect', () => process.exit());
