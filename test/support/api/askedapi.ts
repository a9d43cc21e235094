/** The API of a cluster that does not change, as far as a question reads it; some of it may be forbidden. */
import { type Api, ApiError } from '../../../src/inputs/kube/client/api.ts';

interface Listed {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

const PATH = /^\/api(?:s)?\/(?<group>.+?)(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<plural>[a-z]+)$/;
const GROUP = '/apis/policy.networking.k8s.io';

/** `forbidden` are plurals, which may not be listed but in the namespaces that are `open`. */
export class AskedApi implements Api {
  readonly asked: string[] = [];
  readonly #objects: readonly Listed[];
  readonly #forbidden: readonly string[];
  readonly #open: readonly string[];

  constructor(objects: readonly object[], forbidden: readonly string[] = [], open: readonly string[] = []) {
    this.#objects = objects as readonly Listed[];
    this.#forbidden = forbidden;
    this.#open = open;
  }

  async get(path: string): Promise<AsyncIterable<Uint8Array>> {
    this.asked.push(path);
    const text = JSON.stringify(this.#answer(path));
    return (async function* () {
      yield Buffer.from(text);
    })();
  }

  #answer(path: string): object {
    if (path === '/apis') return { groups: this.#groups() };
    if (path === GROUP) return { versions: [{ version: 'v1alpha2' }, { version: 'v1alpha1' }] };
    if (path === `${GROUP}/v1alpha2`) return { resources: [{ kind: 'ClusterNetworkPolicy' }] };
    if (path === `${GROUP}/v1alpha1`) return { resources: [{ kind: 'AdminNetworkPolicy' }] };
    const { group, namespace, plural } = PATH.exec(path)!.groups!;
    const isOpen = namespace !== undefined && this.#open.includes(namespace);
    if (this.#forbidden.includes(plural!) && !isOpen)
      throw new ApiError(
        403,
        `${path}: 403 Forbidden: ${plural} is forbidden: User "eve" cannot list ${plural}`,
      );
    const found = this.#objects.filter(
      ({ apiVersion, kind, metadata }) =>
        apiVersion === group &&
        pluralOf(kind) === plural &&
        (namespace === undefined || namespace === metadata.namespace),
    );
    return {
      apiVersion: group,
      kind: `${KINDS[plural!]}List`,
      metadata: { resourceVersion: '1' },
      items: found,
    };
  }

  #groups(): object[] {
    const versions = this.#objects.map(({ apiVersion }) => apiVersion.split('/'));
    return versions.map(([name, version]) => ({ name, preferredVersion: { version } }));
  }
}

const KINDS: Readonly<Record<string, string>> = {
  pods: 'Pod',
  namespaces: 'Namespace',
  nodes: 'Node',
  services: 'Service',
  endpointslices: 'EndpointSlice',
  networkpolicies: 'NetworkPolicy',
  clusternetworkpolicies: 'ClusterNetworkPolicy',
  adminnetworkpolicies: 'AdminNetworkPolicy',
  ciliumnetworkpolicies: 'CiliumNetworkPolicy',
  ciliumclusterwidenetworkpolicies: 'CiliumClusterwideNetworkPolicy',
  deployments: 'Deployment',
  statefulsets: 'StatefulSet',
  daemonsets: 'DaemonSet',
  replicasets: 'ReplicaSet',
  replicationcontrollers: 'ReplicationController',
  jobs: 'Job',
  cronjobs: 'CronJob',
  ingresses: 'Ingress',
  ingressclasses: 'IngressClass',
};

function pluralOf(kind: string): string | undefined {
  return Object.keys(KINDS).find(plural => KINDS[plural] === kind);
}
