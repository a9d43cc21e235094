/** A namespace of its own for each spec, with pods that answer, and what is needed to see who reaches whom. */
import { join } from 'node:path';
import { ask, call, create, type KubeObject, read } from './api.ts';
import { bin, command, kubectl, processOf, until } from './cluster.ts';

/** Upstream's test server. */
export const IMAGE = 'registry.k8s.io/e2e-test-images/agnhost:2.63.0';
/** Every pod serves HTTP here, unless told otherwise. */
export const PORT = 8080;

export interface RunningPod extends KubeObject {
  readonly name: string;
  readonly namespace: string;
  readonly node: string;
  /** The first one is that of the cluster's first family. */
  readonly addresses: readonly string[];
  readonly address: string;
  /** Of one of its processes, as this machine counts them: where its network namespace is. */
  readonly pid: number;
}

interface PodOptions {
  readonly labels?: Record<string, string>;
  readonly node?: string;
  readonly port?: number;
  /** Fields of the pod's spec. */
  readonly spec?: object;
  /** Fields of its container. */
  readonly container?: object;
}

export interface Site {
  readonly namespace: string;
  /** Waits until it is ready. */
  pod(name: string, options?: PodOptions): Promise<RunningPod>;
  /** A NetworkPolicy of this namespace. */
  policy(name: string, spec: object): Promise<KubeObject>;
  service(name: string, spec: object): Promise<KubeObject>;
  /** Removes the namespace and waits until it is gone. */
  leave(): Promise<void>;
}

/** Namespaces that nobody has left yet. */
const sites = new Set<string>();

/** A namespace that is left when the file's specs have ended, whatever became of them. */
export async function site(name: string, labels: Record<string, string> = {}): Promise<Site> {
  const namespace = `own-${name}`;
  const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } };
  await gone(namespace); // that of an earlier run
  sites.add(namespace);
  await create(object);
  const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default`;
  await until('the default ServiceAccount', async () =>
    (await call('GET', account)).status === 200 ? true : undefined,
  );
  return {
    namespace,
    pod: (podName, options) => runPod(namespace, podName, options),
    policy: (policyName, spec) => create(networkPolicy(namespace, policyName, spec)),
    service: (serviceName, spec) =>
      create({ apiVersion: 'v1', kind: 'Service', metadata: { name: serviceName, namespace }, spec }),
    leave: () => leave(namespace),
  };
}

async function leave(namespace: string): Promise<void> {
  await kubectl('-n', namespace, 'delete', 'pods', '--all', '--grace-period=0', '--force');
  await gone(namespace);
  sites.delete(namespace);
}

/** All that were made, at once: the one that is slow keeps nobody waiting. */
export async function leaveAll(): Promise<void> {
  await Promise.all([...sites].map(leave));
}

export function networkPolicy(namespace: string, name: string, spec: object): KubeObject {
  const metadata = { name, namespace };
  return { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec };
}

async function gone(namespace: string): Promise<void> {
  await call('DELETE', `/api/v1/namespaces/${namespace}`);
  await until(`namespace ${namespace} is gone`, async () => {
    const { status } = await call('GET', `/api/v1/namespaces/${namespace}`);
    return status === 404 ? true : undefined;
  });
}

async function runPod(namespace: string, name: string, options: PodOptions = {}): Promise<RunningPod> {
  const { labels = {}, node, port = PORT, spec = {}, container = {} } = options;
  const args = ['netexec', `--http-port=${port}`, '--udp-port=-1'];
  const object = await create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { name, ...labels } },
    spec: {
      terminationGracePeriodSeconds: 0,
      ...(node === undefined ? {} : { nodeName: node }),
      containers: [{ name: 'agnhost', image: IMAGE, args, ...container }],
      ...spec,
    },
  });
  return running(object);
}

/** Waits until a pod that somebody made is ready. */
export async function running(object: KubeObject): Promise<RunningPod> {
  const { name, namespace } = object.metadata;
  const found = await until(`pod ${namespace}/${name} is ready`, async () => {
    const pod = await read(object);
    return isReady(pod) ? pod : undefined;
  });
  const addresses = found.status.podIPs.map(({ ip }: { ip: string }) => ip);
  return {
    ...object,
    name,
    namespace: namespace!,
    node: found.spec.nodeName,
    addresses,
    address: addresses[0],
    pid: processOf(found.metadata.uid)!,
  };
}

// biome-ignore lint/suspicious/noExplicitAny: a pod, as the API server has it
export function isReady(pod: any): boolean {
  return pod.status.conditions?.some(
    ({ type, status }: { type: string; status: string }) => type === 'Ready' && status === 'True',
  );
}

/** `10.0.0.1:80`, `[fd00::1]:80` */
export const endpoint = (address: string, port: number = PORT) =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;

export type Place = RunningPod | 'outside';
/** Refused: it arrived, and nobody serves there. */
export type Outcome = 'open' | 'closed' | 'refused';

/** What becomes of one connection; `outside` is beyond the nodes. A name is looked up as the pod would. */
export async function connection(from: Place, to: string, protocol = 'tcp'): Promise<Outcome> {
  const connect = ['connect', to, `--protocol=${protocol}`, '--timeout=1s'];
  const { code, stderr } =
    from === 'outside'
      ? await command(join(bin, 'agnhost'), ...connect)
      : await command('nsenter', '-t', `${from.pid}`, '-n', '-m', '/agnhost', ...connect);
  if (code === 0) return 'open';
  if (/TIMEOUT|DNS/.test(stderr)) return 'closed';
  if (/REFUSED/.test(stderr)) return 'refused';
  throw new Error(`${from === 'outside' ? from : from.name} -> ${to}: ${stderr}`);
}

/** Waits for what policy is about to say, and asks once more; answers what it found. */
export function settles(
  from: Place,
  to: string,
  wanted: Outcome,
  protocol = 'tcp',
  ms = 30_000,
): Promise<Outcome> {
  return becomes(() => connection(from, to, protocol), wanted, ms);
}

/** Asks until the answer is this one, and once more; answers what it found. */
export async function becomes<T>(ask: () => Promise<T>, wanted: T, ms: number = 30_000): Promise<T> {
  const deadline = performance.now() + ms;
  while ((await ask()) !== wanted && performance.now() < deadline);
  return ask();
}

/** Pods of Sluice, by their node. */
export async function agents(): Promise<
  Map<string, { name: string; image: string; pid: number; restarts: number; ready: boolean }>
> {
  const { items } = await ask('GET', '/api/v1/namespaces/sluice/pods');
  return new Map(
    // biome-ignore lint/suspicious/noExplicitAny: a pod, as the API server has it
    items.map((pod: any) => [
      pod.spec.nodeName,
      {
        name: pod.metadata.name,
        image: pod.spec.containers[0].image,
        pid: processOf(pod.metadata.uid),
        restarts: pod.status.containerStatuses?.[0]?.restartCount ?? 0,
        ready: isReady(pod),
      },
    ]),
  );
}
