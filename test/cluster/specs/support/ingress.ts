/** An Ingress controller as people run one: a pod of its own namespace that follows Ingress objects and calls the pods. */
import { call, create, pathOf } from './api.ts';
import { command } from './cluster.ts';
import { endpoint, type Place, PORT, type RunningPod, site } from './site.ts';

/** Zalando's Skipper; test/cluster/binaries builds it. */
const IMAGE = 'ghcr.io/zalando/skipper:v0.22.0';
const NAMESPACE = 'ingress';
const NAME = `own-${NAMESPACE}`;

const SERVES = ['-kubernetes', '-kubernetes-in-cluster', '-kubernetes-https-redirect=false'];
const ARGS = [...SERVES, `-address=:${PORT}`, '-source-poll-timeout=200', '-timeout-backend=1s'];

/** Its pod, with the label `name: controller`, whose port is a port of its node too. */
export async function ingressController(node: string, hostPort: number): Promise<RunningPod> {
  const { namespace, pod } = await site(NAMESPACE);
  await mayRead(namespace);
  const ports = [{ containerPort: PORT, hostPort }];
  return pod('controller', { node, container: { image: IMAGE, args: ARGS, ports } });
}

async function mayRead(namespace: string): Promise<void> {
  const metadata = { name: NAME };
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const verbs = ['get', 'list'];
  const rules = [
    { apiGroups: [''], resources: ['services', 'endpoints', 'namespaces', 'pods', 'secrets'], verbs },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs },
    { apiGroups: ['networking.k8s.io'], resources: ['ingresses'], verbs },
  ];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: NAME };
  const subjects = [{ kind: 'ServiceAccount', name: 'default', namespace }];
  const role = { apiVersion, kind: 'ClusterRole', metadata, rules };
  const binding = { apiVersion, kind: 'ClusterRoleBinding', metadata, roleRef, subjects };
  for (const object of [role, binding]) {
    await call('DELETE', pathOf(object)); // that of an earlier run
    await create(object);
  }
}

/** Requests for `host` go to port 80 of a Service. */
export const ingress = (namespace: string, host: string, service: string) =>
  create({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: service, namespace },
    spec: { rules: [{ host, http: { paths: [backend(service)] } }] },
  });

const backend = (name: string) => ({
  path: '/',
  pathType: 'Prefix',
  backend: { service: { name, port: { number: 80 } } },
});

const GET = `
  const [hostname, port, host] = process.argv.slice(1);
  require('node:http')
    .get({ hostname, port, headers: { host, connection: 'close' }, timeout: 3000 }, ({ statusCode }) => console.log(statusCode))
    .on('timeout', function () { this.destroy(new Error('no answer')); })
    .on('error', () => console.log(0));`;

/** `unserved`: the controller answers, and its backend does not. */
export type Served = 'served' | 'unserved' | 'nobody there' | 'no such host';

/** What becomes of one request for `host` that is sent to this address. */
export async function request(from: Place, address: string, port: number, host: string): Promise<Served> {
  const get = [process.execPath, '-e', GET, address, `${port}`, host];
  const enter = from === 'outside' ? [] : ['nsenter', '-t', `${from.pid}`, '-n'];
  const [file, ...args] = [...enter, ...get] as [string, ...string[]];
  const { code, stdout, stderr } = await command(file, ...args);
  if (code !== 0) throw new Error(`GET ${host} at ${endpoint(address, port)}: ${stderr}`);
  return meaning(Number(stdout));
}

function meaning(status: number): Served {
  if (status === 0) return 'nobody there';
  if (status < 400) return 'served';
  return status < 500 ? 'no such host' : 'unserved';
}
