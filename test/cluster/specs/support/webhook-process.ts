/** The processes behind `webhook`. */
import { createServer as createTlsServer } from 'node:https';
import { connect, createServer, type Server } from 'node:net';
import { json } from 'node:stream/consumers';
import type { WebhookOrders } from './webhook.ts';

const orders: WebhookOrders = JSON.parse(process.argv[2]!);
const server = orders.role === 'webhook' ? answering(orders) : passingOn(orders.to);
server.listen(orders.port, '::', () => process.send!('ready'));
process.on('disconnect', () => process.exit());

function answering({ pem, refusal }: WebhookOrders & { readonly role: 'webhook' }): Server {
  return createTlsServer({ key: pem, cert: pem }, async (request, response) => {
    const {
      apiVersion,
      kind,
      request: asked,
    } = (await json(request)) as {
      apiVersion: string;
      kind: string;
      request: { uid: string };
    };
    const answer = { uid: asked.uid, allowed: false, status: { message: refusal } };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ apiVersion, kind, response: answer }));
  });
}

function passingOn(to: { readonly host: string; readonly port: number }): Server {
  return createServer(from => {
    const there = connect(to);
    for (const [socket, other] of [
      [from, there],
      [there, from],
    ] as const) {
      socket.pipe(other);
      socket.on('error', () => other.destroy());
      socket.on('close', () => other.destroy());
    }
  });
}
