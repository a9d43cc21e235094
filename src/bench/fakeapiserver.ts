/**
 * An API server in memory, over real HTTP: lists with pages, watches with bookmarks, streaming lists, a history
 * that can be compacted and a storage that can be rolled back. Every answer can be spoilt by a fault.
 */
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Access } from '../kube/client/access.ts';

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>> & {
    readonly name: string;
    readonly namespace?: string;
  };
  readonly [key: string]: unknown;
}

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

/** What happens to an answer instead of, or to, its bytes. */
export type Fault =
  | { readonly type: 'status'; readonly code: number; readonly retryAfter?: number }
  /** A connection that is reset before the answer, or one that never answers. */
  | { readonly type: 'reset' | 'silent' }
  /** 200 and a page for people. */
  | { readonly type: 'garbage' }
  /** The connection is reset after so many bytes of the body. */
  | { readonly type: 'truncate'; readonly bytes: number }
  /** The body arrives in pieces of so many bytes. */
  | { readonly type: 'slow'; readonly bytes: number };

interface NodeStatus {
  readonly conditions: readonly { readonly type: string }[];
}

interface Entry {
  readonly revision: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
}

interface Watcher {
  readonly request: Request;
  readonly from: number;
  readonly send: (event: { type: string; object: unknown }) => void;
  readonly end: () => void;
}

interface Storage {
  readonly objects: Map<string, KubeObject>;
  readonly history: Entry[];
  readonly revision: number;
}

interface Page {
  readonly revision: number;
  readonly items: readonly KubeObject[];
}

const PLURALS: Readonly<Record<string, string>> = {
  Pod: '/api/v1/pods',
  Namespace: '/api/v1/namespaces',
  Node: '/api/v1/nodes',
  NetworkPolicy: '/apis/networking.k8s.io/v1/networkpolicies',
  CustomResourceDefinition: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  ClusterNetworkPolicy: 'clusternetworkpolicies',
  AdminNetworkPolicy: 'adminnetworkpolicies',
  BaselineAdminNetworkPolicy: 'baselineadminnetworkpolicies',
};
const CUSTOM_PATH = /^\/apis\/policy\.networking\.k8s\.io\/(\w+)\/(\w+)$/;

const NODE_STATUS_PATH = /^\/api\/v1\/nodes\/([^/]+)\/status$/;
const EVENTS_PATH = /^\/api\/v1\/namespaces\/([^/]+)\/events$/;

export class FakeApiServer {
  /** Servers before 1.27 refuse `sendInitialEvents`. */
  canStream = true;
  token = 'good';
  /** Asked before every answer. */
  fault: (request: Request) => Fault | undefined = () => undefined;
  readonly requests: Request[] = [];
  /** Events that were created, by path and name. */
  readonly events = new Map<string, KubeObject>();
  #objects = new Map<string, KubeObject>();
  #history: Entry[] = [];
  #revision = 1000;
  /** Continue tokens and watches from before this revision are gone. */
  #compacted = 1000;
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

  /** The process ends: nobody listens, and every connection is reset. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    this.#watchers.clear();
    server?.closeAllConnections();
    await new Promise(resolve => (server === undefined ? resolve(undefined) : server.close(resolve)));
  }

  /** As a kubeconfig says it; the token is read anew each time. */
  readonly access = async (): Promise<Access> => ({
    server: `http://127.0.0.1:${this.#port}`,
    headers: { authorization: `Bearer ${this.token}` },
  });

  get objects(): readonly KubeObject[] {
    return [...this.#objects.values()];
  }

  has(kind: string, name: string): boolean {
    return this.#objects.has(`${kind} ${name}`);
  }

  get watchCount(): number {
    return this.#watchers.size;
  }

  put(object: KubeObject): void {
    const key = keyOf(object);
    const type = this.#objects.has(key) ? 'MODIFIED' : 'ADDED';
    this.#record(type, object);
  }

  delete(kind: string, name: string): void {
    const object = this.#objects.get(`${kind} ${name}`);
    if (object === undefined) throw new Error(`there is no ${kind} ${name}`);
    if (kind === 'CustomResourceDefinition') this.#deletePoliciesOf(name);
    this.#record('DELETED', object);
    if (kind === 'CustomResourceDefinition') this.#endUnserved();
  }

  /** A bookmark to every watch that has seen its list. */
  bookmark(): void {
    for (const watcher of this.#watchers)
      watcher.send({ type: 'BOOKMARK', object: bookmark(String(this.#revision)) });
  }

  /** Any line to every watch. */
  say(event: { type: string; object: unknown }): void {
    for (const watcher of this.#watchers) watcher.send(event);
  }

  /** Forgets all history: what asks for an older revision is told 410. */
  compact(): void {
    this.#history = [];
    this.#compacted = this.#revision;
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

  backup(): Storage {
    return { objects: new Map(this.#objects), history: [...this.#history], revision: this.#revision };
  }

  restore({ objects, history, revision }: Storage): void {
    this.cut();
    this.#objects = new Map(objects);
    this.#history = [...history];
    this.#revision = revision;
    this.#compacted = Math.min(this.#compacted, revision);
    this.#pages.clear();
  }

  #record(type: Entry['type'], object: KubeObject): void {
    const revision = ++this.#revision;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
    if (type === 'DELETED') this.#objects.delete(keyOf(object));
    else this.#objects.set(keyOf(object), stored);
    const entry = { revision, type, object: stored };
    this.#history.push(entry);
    for (const watcher of this.#watchers)
      if (revision > watcher.from && this.#selects(watcher.request, stored))
        watcher.send({ type, object: asServed(stored, watcher.request) });
  }

  #deletePoliciesOf(name: string): void {
    for (const object of this.objects)
      if (name.startsWith(`${PLURALS[object.kind]}.`)) this.#record('DELETED', object);
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

  #serve(incoming: IncomingMessage, request: Request, response: ServerResponse, fault?: Fault): void {
    const body = new Body(response, fault);
    if (incoming.headers.authorization !== `Bearer ${this.token}`) refuse(response, 401);
    else if (request.method === 'PATCH') void this.#patch(incoming, request, response);
    else if (request.method === 'POST') void this.#create(incoming, request, response);
    else if (!this.#isServed(request.path)) refuse(response, 404);
    else if (request.query.watch === 'true') this.#watch(request, response, body);
    else this.#list(request, response, body);
  }

  /** Conditions of nodes and nothing else, by a strategic merge: those of other types stay. */
  async #patch(incoming: IncomingMessage, { path }: Request, response: ServerResponse): Promise<void> {
    const body = await text(incoming);
    const isMerge = incoming.headers['content-type'] === 'application/strategic-merge-patch+json';
    const node = this.#objects.get(`Node ${NODE_STATUS_PATH.exec(path)?.[1]}`);
    if (node === undefined || !isMerge) return refuse(response, node === undefined ? 404 : 415);
    const { conditions } = (JSON.parse(body) as { status: NodeStatus }).status;
    const status = (node.status ?? {}) as Partial<NodeStatus>;
    const others = (status.conditions ?? []).filter(({ type }) => !conditions.some(c => c.type === type));
    this.#record('MODIFIED', { ...node, status: { ...status, conditions: [...others, ...conditions] } });
    response.end(JSON.stringify(node));
  }

  /** Events and nothing else; of two with one name the second is refused. */
  async #create(incoming: IncomingMessage, { path }: Request, response: ServerResponse): Promise<void> {
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
    const definition = this.#objects.get(`CustomResourceDefinition ${name}`);
    return definition !== undefined && servedVersions(definition).includes(version);
  }

  #selects({ path, query }: Request, object: KubeObject): boolean {
    const plural = PLURALS[object.kind]!;
    const isHere = path === plural || path.endsWith(`/${plural}`);
    const only = query.fieldSelector?.replace('metadata.name=', '');
    return isHere && (only === undefined || only === object.metadata.name);
  }

  #list(request: Request, response: ServerResponse, body: Body): void {
    const { limit = '0', continue: token } = request.query;
    const page = token === undefined ? this.#snapshot(request) : this.#pages.get(token);
    if (page === undefined) refuse(response, 410);
    else this.#page(request, page, Number(limit), body);
  }

  #page(request: Request, page: Page, limit: number, body: Body): void {
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

  #snapshot(request: Request) {
    const items = this.objects.filter(object => this.#selects(request, object));
    return { revision: this.#revision, items };
  }

  #watch(request: Request, response: ServerResponse, body: Body): void {
    const { sendInitialEvents, resourceVersion } = request.query;
    const from = Number(resourceVersion ?? 0);
    const isList = sendInitialEvents === 'true';
    const send: Watcher['send'] = event => body.write(`${JSON.stringify(event)}\n`);
    if (isList && !this.canStream) {
      refuse(response, 422);
      return;
    }
    response.writeHead(200);
    response.flushHeaders();
    if (!isList && from < this.#compacted) {
      send({ type: 'ERROR', object: status(410) });
      body.end();
      return;
    }
    if (isList) this.#stream(request, send);
    else this.#replay(request, from, send);
    const watcher = { request, from, send, end: () => body.end() };
    this.#watchers.add(watcher);
    response.on('close', () => this.#watchers.delete(watcher));
  }

  #stream(request: Request, send: Watcher['send']): void {
    const { items, revision } = this.#snapshot(request);
    for (const object of items) send({ type: 'ADDED', object: asServed(object, request) });
    const annotations = { 'k8s.io/initial-events-end': 'true' };
    send({ type: 'BOOKMARK', object: bookmark(String(revision), annotations) });
  }

  /** A revision of the future shows nothing until it has come, as the server's watch cache does it. */
  #replay(request: Request, from: number, send: Watcher['send']): void {
    for (const { revision, type, object } of this.#history)
      if (revision > from && this.#selects(request, object))
        send({ type, object: asServed(object, request) });
  }
}

/** The body of an answer, as its fault lets it pass. */
class Body {
  readonly #response: ServerResponse;
  readonly #fault: Fault | undefined;
  #written = 0;
  #queue: Promise<void> = Promise.resolve();

  constructor(response: ServerResponse, fault: Fault | undefined) {
    this.#response = response;
    this.#fault = fault;
  }

  write(text: string): void {
    const bytes = Buffer.from(text);
    if (this.#fault?.type === 'truncate') this.#truncated(bytes, this.#fault.bytes);
    else if (this.#fault?.type === 'slow') this.#slowly(bytes, this.#fault.bytes);
    else this.#response.write(bytes);
  }

  end(): void {
    this.#queue = this.#queue.then(() => void this.#response.end());
  }

  #truncated(bytes: Buffer, most: number): void {
    const left = most - this.#written;
    this.#written += bytes.length;
    if (left <= 0) return;
    this.#response.write(bytes.subarray(0, left));
    if (left < bytes.length) setImmediate(() => this.#response.destroy());
  }

  #slowly(bytes: Buffer, size: number): void {
    for (let at = 0; at < bytes.length; at += size) {
      const piece = bytes.subarray(at, at + size);
      this.#queue = this.#queue.then(async () => {
        if (!this.#response.destroyed) this.#response.write(piece);
        await new Promise(resolve => setImmediate(resolve));
      });
    }
  }
}

function keyOf({ kind, metadata: { name, namespace } }: KubeObject): string {
  return namespace === undefined ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

/** Policies are stored once and shown in the version that is asked for. */
function asServed(object: KubeObject, { path }: Request): KubeObject {
  const version = CUSTOM_PATH.exec(path)?.[1];
  return version === undefined ? object : { ...object, apiVersion: `policy.networking.k8s.io/${version}` };
}

function typeOfList(path: string): { apiVersion: string; kind: string } {
  const plural = path.split('/').at(-1);
  const [kind] = Object.entries(PLURALS).find(([, value]) => value.split('/').at(-1) === plural)!;
  const [, root, ...rest] = path.split('/');
  return { apiVersion: root === 'api' ? 'v1' : rest.slice(0, -1).join('/'), kind: `${kind}List` };
}

function servedVersions({ spec }: KubeObject): readonly string[] {
  const { versions } = spec as { versions: readonly { name: string; served: boolean }[] };
  return versions.filter(({ served }) => served).map(({ name }) => name);
}

function bookmark(resourceVersion: string, annotations?: object): object {
  return { metadata: { resourceVersion, ...(annotations && { annotations }) } };
}

function status(code: number): object {
  const reason = code === 410 ? 'Expired' : http.STATUS_CODES[code];
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: `fault ${code}` };
}

function refuse(response: ServerResponse, code: number, retryAfter?: number): void {
  const headers = { ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }) };
  response.writeHead(code, headers).end(JSON.stringify(status(code)));
}
