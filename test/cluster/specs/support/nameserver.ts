/**
 * The world outside as the cluster's CoreDNS asks for it (nodes/dns.yaml): a name server for two zones, in this process.
 * A name says its address, `10-0-0-1.x.names.test`, or eight groups of IPv6; one of alias.test is another name of it.
 */
import { createSocket, type Socket } from 'node:dgram';
import packet, { type Answer, type Packet } from 'dns-packet';

const PORT = 5399;
const TTL = 5;

/** `10-0-0-1.LABEL.names.test`. */
export function nameOf(address: string, label: string, zone = 'names.test'): string {
  const digits = address.includes(':') ? groupsOf(address).join('-') : address.replaceAll('.', '-');
  return `${digits}.${label}.${zone}`;
}

function groupsOf(address: string): string[] {
  const [before = '', after = ''] = address.split('::');
  const [first, last] = [before, after].map(text => text.split(':').filter(group => group !== ''));
  return [...first!, ...new Array<string>(8 - first!.length - last!.length).fill('0'), ...last!];
}

/** Answers how to end it. */
export async function serveNames(): Promise<() => void> {
  const sockets = await Promise.all((['udp4', 'udp6'] as const).map(listen));
  return () => {
    for (const socket of sockets) socket.close();
  };
}

async function listen(type: 'udp4' | 'udp6'): Promise<Socket> {
  const socket = createSocket({ type, ipv6Only: type === 'udp6' });
  socket.on('message', (message, { address, port }) => socket.send(reply(message), port, address));
  await new Promise<void>((resolve, reject) => socket.once('error', reject).bind(PORT, resolve));
  return socket;
}

function reply(message: Buffer): Buffer {
  const { id, questions = [] } = packet.decode(message);
  const [question] = questions;
  const answers = question === undefined ? [] : answersFor(question.name, question.type);
  return packet.encode({ type: 'response', id: id ?? 0, flags: 0x580, questions, answers } as Packet);
}

function answersFor(name: string, type: string): Answer[] {
  const lower = name.toLowerCase();
  const target = lower.replace(/\.alias\.test$/, '.names.test');
  const groups = lower.split('.')[0]!.split('-');
  const ofType = type === 'A' ? groups.length === 4 : type === 'AAAA' && groups.length === 8;
  const data = groups.join(type === 'A' ? '.' : ':');
  return [
    ...(target === lower ? [] : [{ type: 'CNAME', name, ttl: TTL, data: target } as const]),
    ...(ofType ? [{ type: type as 'A', name: target === lower ? name : target, ttl: TTL, data }] : []),
  ];
}
