/**
 * An API server in memory, over real HTTP: lists with pages, watches with bookmarks, streaming lists, a history
 * that can be compacted and a storage that can be rolled back. Every answer can be spoilt by a fault.
 */
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Access } from '../src/inputs/kube/client/access.ts';
import { Body, type Fault, refuse } from './fakeapibody.ts';
import {
  asServed,
  bookmark,
  CUSTOM_PATH,
  EVENTS_PATH,
  type FakeRequest,
  type KubeObject,
  NODE_STATUS_PATH,
  PLURALS,
  servedVersions,
  status,
  typeOfList,
} from './fakeapiobjects.ts';
import { type Backup, FakeStorage, type StoredChange } from './fakestorage.ts';

export type { Fault } from './fakeapibody.ts';
export type { FakeRequest, KubeObject } from './fakeapiobjects.ts';

interface NodeStatus {
  readonly conditions: readonly { readonly type: string }[];
}

interface Watcher {
  readonly request: FakeRequest;
  readonly from: number;
  readonly send: (event: { type: string; object: unknown }) => void;
  readonly end: () => void;
}

interface Page {
  readonly revision: number;
  readonly items: readonly KubeObject[];
}

export class FakeApiServer {
  /** Servers before 1.27 refuse `sendInitialEvents`. */
  canStream = true;
  token = 'good';
  /** Asked before every answer. */
  fault: (request: FakeRequest) => Fault | undefined = () => undefined;
  readonly requests: FakeRequest[] = [];
  /** Events that were created, by path and name. */
  readonly events = new Map<string, KubeObject>();
  readonly #storage = new FakeStorage();
  readonly #watchers = new Set<Watcher>();
  readonly #pages = new Map<string, Page>();
  #server: http.Server | undefined;
  #port = 0;

  async start(): Promise<void> {
    const server = http.createServer((request, response) => this.#answer(request, response));
    this.#server = server;
    await new Promise<void>(resolve => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
  }

  /** The process ends: the listener closes, and every connection is reset. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    this.#watchers.clear();
    server?.closeAllConnections();
    await new Promise(resolve => (server === undefined ? resolve(undefined) : server.close(resolve)));
  }

  /** The access as a kubeconfig gives it; the token is read anew each time. */
  readonly access = async (): Promise<Access> => ({
    server: `http://127.0.0.1:${this.#port}`,
    headers: { authorization: `Bearer ${this.token}` },
  });

  get objects(): readonly KubeObject[] {
    return this.#storage.objects;
  }

  has(kind: string, name: string): boolean {
    return this.#storage.get(`${kind} ${name}`) !== undefined;
  }

  get watchCount(): number {
    return this.#watchers.size;
  }

  put(object: KubeObject): void {
    this.#publish(this.#storage.put(object));
  }

  delete(kind: string, name: string): void {
    const object = this.#storage.get(`${kind} ${name}`);
    if (object === undefined) throw new Error(`there is no ${kind} ${name}`);
    if (kind === 'CustomResourceDefinition') this.#deletePoliciesOf(name);
    this.#publish(this.#storage.delete(object));
    if (kind === 'CustomResourceDefinition') this.#endUnserved();
  }

  /** A bookmark to every watch that has seen its list. */
  bookmark(): void {
    for (const watcher of this.#watchers)
      watcher.send({ type: 'BOOKMARK', object: bookmark(String(this.#storage.revision)) });
  }

  /** Any line to every watch, or to those that are meant. */
  say(event: { type: string; object: unknown }, isMeant = (_: FakeRequest) => true): void {
    for (const watcher of this.#watchers) if (isMeant(watcher.request)) watcher.send(event);
  }

  /** Forgets all history: a request for an older revision gets 410. */
  compact(): void {
    this.#storage.compact();
    this.#pages.clear();
  }

  /** Resets every connection. */
  cut(): void {
    this.#watchers.clear();
    this.#server?.closeAllConnections();
  }

  /** Ends every watch in order, as at its time-out. */
  endWatches(): void {
    for (const watcher of this.#watchers) watcher.end();
    this.#watchers.clear();
  }

  backup(): Backup {
    return this.#storage.backup();
  }

  restore(backup: Backup): void {
    this.cut();
    this.#storage.restore(backup);
    this.#pages.clear();
  }

  #publish({ revision, type, object }: StoredChange): void {
    for (const watcher of this.#watchers)
      if (revision > watcher.from && this.#selects(watcher.request, object))
        watcher.send({ type, object: asServed(object, watcher.request) });
  }

  #deletePoliciesOf(name: string): void {
    for (const object of this.objects)
      if (name.startsWith(`${PLURALS[object.kind]}.`)) this.#publish(this.#storage.delete(object));
  }

  #endUnserved(): void {
    for (const watcher of this.#watchers)
      if (!this.#isServed(watcher.request.path)) {
        watcher.end();
        this.#watchers.delete(watcher);
      }
  }

  #answer(incoming: IncomingMessage, response: ServerResponse): void {
    const url = new URL(incoming.url ?? '/', 'http://server');
    const { method = 'GET' } = incoming;
    const request = { method, path: url.pathname, query: Object.fromEntries(url.searchParams) };
    this.requests.push(request);
    response.on('error', () => {});
    const fault = this.fault(request);
    if (fault?.type === 'reset') incoming.socket.destroy();
    else if (fault?.type === 'garbage') response.end('<html>please log in</html>');
    else if (fault?.type === 'status') refuse(response, fault.code, fault.retryAfter);
    else if (fault?.type !== 'silent') this.#serve(incoming, request, response, fault);
  }

  #serve(incoming: IncomingMessage, request: FakeRequest, response: ServerResponse, fault?: Fault): void {
    const body = new Body(response, fault);
    if (incoming.headers.authorization !== `Bearer ${this.token}`) refuse(response, 401);
    else if (request.method === 'PATCH') void this.#patch(incoming, request, response);
    else if (request.method === 'POST') void this.#create(incoming, request, response);
    else if (!this.#isServed(request.path)) refuse(response, 404);
    else if (request.query.watch === 'true') this.#watch(request, response, body);
    else this.#list(request, response, body);
  }

  /** Conditions of nodes and nothing else, by a strategic merge: those of other types stay. */
  async #patch(incoming: IncomingMessage, { path }: FakeRequest, response: ServerResponse): Promise<void> {
    const body = await text(incoming);
    const isMerge = incoming.headers['content-type'] === 'application/strategic-merge-patch+json';
    const node = this.#storage.get(`Node ${NODE_STATUS_PATH.exec(path)?.[1]}`);
    if (node === undefined || !isMerge) return refuse(response, node === undefined ? 404 : 415);
    const { conditions } = (JSON.parse(body) as { status: NodeStatus }).status;
    const status = (node.status ?? {}) as Partial<NodeStatus>;
    const others = (status.conditions ?? []).filter(({ type }) => !conditions.some(c => c.type === type));
    this.put({ ...node, status: { ...status, conditions: [...others, ...conditions] } });
    response.end(JSON.stringify(node));
  }

  /** Events and nothing else; of two with one name the second is refused. */
  async #create(incoming: IncomingMessage, { path }: FakeRequest, response: ServerResponse): Promise<void> {
    const body = await text(incoming);
    const isJson = incoming.headers['content-type'] === 'application/json';
    const [, namespace] = EVENTS_PATH.exec(path) ?? [];
    if (namespace === undefined || !isJson) return refuse(response, namespace === undefined ? 404 : 415);
    const object = JSON.parse(body) as KubeObject;
    const key = `${path}/${object.metadata.name}`;
    if (object.metadata.namespace !== namespace) return refuse(response, 400);
    if (this.events.has(key)) return refuse(response, 409);
    this.events.set(key, object);
    response.writeHead(201).end(JSON.stringify(object));
  }

  #isServed(path: string): boolean {
    const [, version, plural] = CUSTOM_PATH.exec(path) ?? [];
    if (version === undefined) return Object.values(PLURALS).includes(path);
    const name = `${plural}.policy.networking.k8s.io`;
    const definition = this.#storage.get(`CustomResourceDefinition ${name}`);
    return definition !== undefined && servedVersions(definition).includes(version);
  }

  #selects({ path, query }: FakeRequest, object: KubeObject): boolean {
    const plural = PLURALS[object.kind]!;
    const isHere = path === plural || path.endsWith(`/${plural}`);
    const only = query.fieldSelector?.replace('metadata.name=', '');
    return isHere && (only === undefined || only === object.metadata.name);
  }

  #list(request: FakeRequest, response: ServerResponse, body: Body): void {
    const { limit = '0', continue: token } = request.query;
    const page = token === undefined ? this.#snapshot(request) : this.#pages.get(token);
    if (page === undefined) refuse(response, 410);
    else this.#page(request, page, Number(limit), body);
  }

  #page(request: FakeRequest, page: Page, limit: number, body: Body): void {
    const size = limit || page.items.length;
    const rest = page.items.slice(size);
    const next = rest.length > 0 ? `${page.revision}-${this.#pages.size}-${this.requests.length}` : undefined;
    if (next !== undefined) this.#pages.set(next, { revision: page.revision, items: rest });
    const items = page.items.slice(0, size).map(({ apiVersion: _, kind: __, ...item }) => item);
    const metadata = { resourceVersion: String(page.revision), ...(next && { continue: next }) };
    const list = { ...typeOfList(request.path), metadata, items: items.length > 0 ? items : null };
    body.write(JSON.stringify(list));
    body.end();
  }

  #snapshot(request: FakeRequest) {
    const items = this.objects.filter(object => this.#selects(request, object));
    return { revision: this.#storage.revision, items };
  }

  #watch(request: FakeRequest, response: ServerResponse, body: Body): void {
    const { sendInitialEvents, resourceVersion, timeoutSeconds = '1800' } = request.query;
    const from = Number(resourceVersion ?? 0);
    const isList = sendInitialEvents === 'true';
    const send: Watcher['send'] = event => body.write(`${JSON.stringify(event)}\n`);
    if (isList && !this.canStream) {
      refuse(response, 422);
      return;
    }
    response.writeHead(200);
    response.flushHeaders();
    if (!isList && !this.#storage.remembers(from)) {
      send({ type: 'ERROR', object: status(410) });
      body.end();
      return;
    }
    if (isList) this.#stream(request, send);
    else this.#replay(request, from, send);
    const watcher = { request, from, send, end: () => body.end() };
    this.#watchers.add(watcher);
    const timer = setTimeout(() => this.#timeOut(watcher), Number(timeoutSeconds) * 1000);
    response.on('close', () => {
      clearTimeout(timer);
      this.#watchers.delete(watcher);
    });
  }

  /** Shortly before its end, a watch gets a bookmark. */
  #timeOut(watcher: Watcher): void {
    watcher.send({ type: 'BOOKMARK', object: bookmark(String(this.#storage.revision)) });
    watcher.end();
    this.#watchers.delete(watcher);
  }

  #stream(request: FakeRequest, send: Watcher['send']): void {
    const { items, revision } = this.#snapshot(request);
    for (const object of items) send({ type: 'ADDED', object: asServed(object, request) });
    const annotations = { 'k8s.io/initial-events-end': 'true' };
    send({ type: 'BOOKMARK', object: bookmark(String(revision), annotations) });
  }

  /** A revision of the future shows nothing until it has come, as the server's watch cache does it. */
  #replay(request: FakeRequest, from: number, send: Watcher['send']): void {
    for (const { type, object } of this.#storage.since(from))
      if (this.#selects(request, object)) send({ type, object: asServed(object, request) });
  }
}
