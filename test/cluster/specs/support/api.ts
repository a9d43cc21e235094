/** Objects at the API server, as its administrator. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { server, state } from './cluster.ts';

export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the API server says
  readonly body: any;
}

/** What all objects have; the rest is as the API has it. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [key: string]: unknown };
  readonly [key: string]: unknown;
}

const pki = (file: string) => readFileSync(join(state, 'pki', file));
const agent = new Agent({
  keepAlive: true,
  ca: pki('ca.crt'),
  cert: pki('admin.crt'),
  key: pki('admin.key'),
});

/** One request. Rejects only where there is no answer. */
export function call(
  method: string,
  path: string,
  body?: object,
  type = 'application/json',
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const headers = { 'content-type': type };
  const sent = request(new URL(path, server), { method, headers, agent, timeout: 10_000 }, response => {
    const chunks: Buffer[] = [];
    response.on('data', chunk => chunks.push(chunk));
    response.on('error', reject);
    response.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      resolve({ status: response.statusCode!, body: text.startsWith('{') ? JSON.parse(text) : text });
    });
  });
  sent.on('timeout', () => sent.destroy(new Error(`${method} ${path}: no answer in 10 s`)));
  sent.on('error', reject);
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  return promise;
}

/** Throws with the API server's words where it refuses. */
export async function ask(
  method: string,
  path: string,
  body?: object,
  type?: string,
): Promise<Answer['body']> {
  const { status, body: answer } = await call(method, path, body, type);
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${answer.message ?? answer}`);
  return answer;
}

/** The first of a node's addresses. */
export async function nodeAddress(name: string): Promise<string> {
  const { status } = await ask('GET', `/api/v1/nodes/${name}`);
  return status.addresses.find(({ type }: { type: string }) => type === 'InternalIP').address;
}

export async function create<T extends KubeObject>(object: T): Promise<T> {
  await ask('POST', pathOf(object).replace(/\/[^/]*$/, ''), object);
  return object;
}

export const read = (object: KubeObject): Promise<Answer['body']> => ask('GET', pathOf(object));
export const remove = (object: KubeObject): Promise<unknown> => ask('DELETE', pathOf(object));

/** A JSON merge patch. */
export function patch(object: KubeObject, change: object): Promise<Answer['body']> {
  return ask('PATCH', pathOf(object), change, 'application/merge-patch+json');
}

/** `/apis/networking.k8s.io/v1/namespaces/shop/networkpolicies/deny` */
export function pathOf({ apiVersion, kind, metadata: { name, namespace } }: KubeObject): string {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = `${kind.toLowerCase().replace(/y$/, 'ie').replace(/ss$/, '$&e')}s`;
  return `${group}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}/${name}`;
}
