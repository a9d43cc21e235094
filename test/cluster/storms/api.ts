/** The API server as the test uses it. Every answer but 2xx is an error, unless its code is expected. */
import https from 'node:https';
import { setTimeout } from 'node:timers/promises';
import { until } from '../../support/until.ts';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [key: string]: unknown };
  readonly [key: string]: unknown;
}

export interface ToldEvent {
  readonly message: string;
  readonly type: string;
  readonly reason: string;
}

interface Identity {
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}

interface Answer {
  readonly code: number;
  readonly body: string;
}

const PLURALS: Readonly<Record<string, string>> = {
  NetworkPolicy: 'networkpolicies',
  ClusterNetworkPolicy: 'clusternetworkpolicies',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
  AdminNetworkPolicy: 'adminnetworkpolicies',
  BaselineAdminNetworkPolicy: 'baselineadminnetworkpolicies',
  CustomResourceDefinition: 'customresourcedefinitions',
};

export class Api {
  readonly #server: string;
  readonly #agent: https.Agent;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(server: string, identity: Identity, headers: Readonly<Record<string, string>> = {}) {
    this.#server = server;
    this.#headers = headers;
    this.#agent = new https.Agent({ ...identity, keepAlive: true, maxSockets: 32 });
  }

  async isReady(): Promise<boolean> {
    const answer = await this.#send('GET', '/readyz').catch(() => undefined);
    return answer?.code === 200;
  }

  async get(path: string): Promise<unknown> {
    return JSON.parse((await this.#request('GET', path)).body);
  }

  /** Of an object, as `kubectl describe` finds them; one that lives in no namespace has them anywhere. */
  async eventsOf(object: Manifest): Promise<readonly ToldEvent[]> {
    const { kind } = object;
    const { metadata } = (await this.get(pathOf(object))) as Manifest;
    const { name, namespace = '', uid } = metadata;
    const fields = { name, namespace, kind, uid };
    const selector = Object.entries(fields).map(([field, value]) => `involvedObject.${field}=${value}`);
    const query = new URLSearchParams({ fieldSelector: selector.join(',') });
    const place = namespace === '' ? '' : `/namespaces/${namespace}`;
    const { items } = (await this.get(`/api/v1${place}/events?${query}`)) as { items: ToldEvent[] };
    return items;
  }

  /** What the server answers, whatever it is. */
  async try(
    method: string,
    path: string,
    body?: object,
    type?: string,
  ): Promise<{ code: number; body: unknown }> {
    const { code, body: text } = await this.#send(method, path, body, type);
    return { code, body: JSON.parse(text) };
  }

  async create(object: Manifest): Promise<void> {
    await this.#request('POST', collection(object), object);
  }

  /** Makes or changes it; with `status` the object's status, which is written apart. */
  async apply(object: Manifest): Promise<void> {
    const { status, ...desired } = object;
    await this.#apply(pathOf(object), desired as Manifest);
    const { apiVersion, kind, metadata } = object;
    if (status !== undefined)
      await this.#apply(`${pathOf(object)}/status`, { apiVersion, kind, metadata, status });
  }

  async merge(object: Manifest, patch: object, subresource = ''): Promise<void> {
    await this.#request('PATCH', `${pathOf(object)}${subresource}`, patch, 'application/merge-patch+json');
  }

  /** At once: nobody is here who would end a pod in its own time. */
  async remove(object: Manifest): Promise<void> {
    await this.#request('DELETE', `${pathOf(object)}?gracePeriodSeconds=0`);
  }

  async exists(object: Manifest): Promise<boolean> {
    return (await this.#send('GET', pathOf(object))).code === 200;
  }

  /** Until the server answers for the kind that this CustomResourceDefinition defines. */
  async established(definition: Manifest): Promise<void> {
    const { name } = definition.metadata;
    await until(`${name} is served`, async () => isEstablished(await this.get(pathOf(definition))));
  }

  close(): void {
    this.#agent.destroy();
  }

  async #apply(path: string, object: Manifest): Promise<void> {
    await this.#request(
      'PATCH',
      `${path}?fieldManager=storm&force=true`,
      object,
      'application/apply-patch+yaml',
    );
  }

  async #request(method: string, path: string, body?: object, type?: string): Promise<Answer> {
    const answer = await this.#send(method, path, body, type);
    // "storage is (re)initializing": a definition has changed a moment ago.
    if (answer.code === 429) return setTimeout(500).then(() => this.#request(method, path, body, type));
    if (answer.code >= 300) throw new Error(`${method} ${path}: ${answer.code} ${answer.body}`);
    return answer;
  }

  #send(method: string, path: string, body?: object, type = 'application/json'): Promise<Answer> {
    const headers = { ...this.#headers, ...(body !== undefined && { 'content-type': type }) };
    return new Promise((resolve, reject) => {
      const request = https.request(`${this.#server}${path}`, { method, headers, agent: this.#agent });
      request.on('error', reject);
      request.on('response', response => {
        const chunks: Buffer[] = [];
        response.on('data', chunk => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({ code: response.statusCode!, body: Buffer.concat(chunks).toString('utf8') }),
        );
      });
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}

/** Where the server keeps the objects of that one's kind and namespace. */
export function collection({ apiVersion, kind, metadata: { namespace } }: Manifest): string {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = PLURALS[kind] ?? `${kind.toLowerCase()}s`;
  return `${group}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}`;
}

function pathOf(object: Manifest): string {
  return `${collection(object)}/${object.metadata.name}`;
}

function isEstablished(definition: unknown): boolean {
  const { status } = definition as { status?: { conditions?: { type: string; status: string }[] } };
  return status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ?? false;
}
