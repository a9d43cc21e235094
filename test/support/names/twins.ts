/**
 * A pod's program that looks up a name in both families at once, from one port, as the C libraries do, and connects to
 * the addresses. Its arguments: resolver, patience in milliseconds, names. It prints the addresses that it reached.
 */
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import packet from 'dns-packet';

const TYPES = ['A', 'AAAA'] as const;
const [resolver = '', patience = '', ...names] = process.argv.slice(2);
const patienceMs = Number(patience);

for (const name of names)
  for (const address of await resolveBoth(name)) if (await connects(address)) console.log(address);

function resolveBoth(name: string): Promise<string[]> {
  const socket = createSocket('udp4');
  const found: string[] = [];
  const { promise, resolve } = Promise.withResolvers<string[]>();
  const end = () => {
    clearTimeout(timer);
    socket.close();
    resolve(found);
  };
  const timer = setTimeout(end, patienceMs);
  socket.on('message', message => {
    const { answers = [] } = packet.decode(message);
    found.push(...answers.flatMap(answer => ('data' in answer ? [String(answer.data)] : [])));
    if (found.length === TYPES.length) end();
  });
  for (const [id, type] of TYPES.entries())
    socket.send(
      packet.encode({ type: 'query', id, flags: 0x100, questions: [{ type, name }] }),
      53,
      resolver,
    );
  return promise;
}

function connects(host: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const connection = connect({ host, port: 80 });
  connection.on('connect', () => resolve(true));
  connection.on('error', () => resolve(false));
  setTimeout(() => resolve(false), patienceMs).unref();
  return promise.finally(() => connection.destroy());
}
