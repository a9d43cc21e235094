/** Whom a rule or a policy can name, as people write it; and why it cannot, in a sentence. */
import { decodeObject } from '../../inputs/kube/decode/decode.ts';
import { getOrMake } from '../../lib/collections/getormake.ts';
import { groupedBy } from '../../lib/collections/groupedby.ts';
import type { Address } from '../../model/address.ts';
import { type Cluster, NAMESPACE_NAME_LABEL, type Pod } from '../../model/cluster.ts';
import type { Inventory } from '../../model/inventory.ts';
import type { Labels } from '../../model/labels.ts';
import type { Service } from '../../model/service.ts';
import type { Workload } from '../../model/workload.ts';
import { apiServerRemarks } from '../questions/apiserver.ts';
import { podsSide } from '../questions/fix/sides.ts';
import type { GuessEnd } from './guess.ts';
import type { Member } from './members.ts';

export interface World {
  readonly cluster: Cluster;
  readonly inventory: Inventory;
}

export type Selector = Readonly<Record<string, unknown>>;

/** Who isolates it closes the cluster's DNS, and more that no manifest of an application names. */
export const SYSTEM = 'kube-system';
const KUBE_DNS = 'kube-system/kube-dns';

export interface Dns {
  readonly selector: Labels;
  readonly ports: readonly { readonly protocol: string; readonly port: number | string }[];
  /** Whether a Service of the manifests says so. */
  readonly isKnown: boolean;
}

export class Peers {
  /** What a person would write beside an address, by the CIDR of a peer. */
  readonly remarks: ReadonlyMap<string, string>;
  /** Sentences on what no policy can name. */
  readonly nameless = new Set<string>();
  readonly dns: Dns;
  readonly #inventory: Inventory;
  readonly #selectors = new Map<Member, Selector | string>();
  readonly #pods: ReadonlyMap<string, readonly Pod[]>;
  readonly #workloads: ReadonlyMap<string, readonly Workload[]>;
  readonly #cluster: Cluster;

  constructor({ cluster, inventory }: World) {
    this.#cluster = cluster;
    this.#inventory = inventory;
    this.remarks = apiServerRemarks(inventory);
    this.#pods = groupedBy(cluster.pods.values(), ({ namespace }) => namespace);
    this.#workloads = groupedBy(inventory.workloads.values(), ({ namespace }) => namespace);
    this.dns = this.#dnsOf(inventory.services.get(KUBE_DNS));
  }

  /** Undefined where no selector means it, or none that an API server takes. */
  selectorOf(member: Member): Selector | undefined {
    const found = getOrMake(this.#selectors, member, () => {
      const selector = member.selector ? { matchLabels: member.selector } : this.#select(member);
      if (selector === undefined) return NO_LABEL;
      return refusal(member.pod.namespace, { podSelector: selector }) ?? selector;
    });
    if (typeof found !== 'string') return found;
    this.nameless.add(`${member.id}: ${found}`);
    return undefined;
  }

  #select({ pod, workload }: Member): Selector | undefined {
    // Owners and selectors are of one namespace, and each member looks through all that there are.
    const [pods, workloads] = [this.#pods.get(pod.namespace) ?? [], this.#workloads.get(pod.namespace) ?? []];
    const known = { ...this.#cluster, pods: new Map(pods.map(each => [each.key, each])) };
    const inventory = { ...this.#inventory, workloads: new Map(workloads.map(each => [each.id, each])) };
    const meaning = { known, inventory, domains: new Map<Address, string>(), internet: new Set<Address>() };
    const side = podsSide(meaning, pod, workload && { kind: 'workload', id: workload });
    return typeof side === 'string' ? undefined : side.selector;
  }

  /** None for anyone; undefined where no rule can name the end. */
  of(end: GuessEnd, own: string): readonly object[] | undefined {
    if (end === 'anyone') return [];
    if (end === 'dns') return [podsIn(SYSTEM, { matchLabels: this.dns.selector }, own)];
    if (end === 'api server') return [...this.remarks.keys()].map(cidr => ({ ipBlock: { cidr } }));
    const podSelector = this.selectorOf(end);
    return podSelector && [podsIn(end.pod.namespace, podSelector, own)];
  }

  /** The cluster's DNS, by its Service where the manifests have it. */
  #dnsOf(service: Service | undefined): Dns {
    const ports = service?.ports.filter(({ port }) => port === 53) ?? [];
    const usual = { selector: { 'k8s-app': 'kube-dns' }, ports: DNS_PORTS, isKnown: service !== undefined };
    const { selector = {} } = service ?? {};
    if (Object.keys(selector).length === 0) return usual;
    const found = {
      selector,
      ports: ports.length > 0 ? ports.map(({ protocol, target: port }) => ({ protocol, port })) : DNS_PORTS,
      isKnown: true,
    };
    const spec = { podSelector: { matchLabels: selector }, ingress: [{ ports: found.ports }] };
    const why = refusal(SYSTEM, spec);
    if (why === undefined) return found;
    this.nameless.add(`Service ${KUBE_DNS}: ${why}; k8s-app: kube-dns, port 53, is taken instead`);
    return usual;
  }
}

const DNS_PORTS = [
  { protocol: 'UDP', port: 53 },
  { protocol: 'TCP', port: 53 },
];

const NO_LABEL = 'it has no label of its own, so give its template (or manifest) one';

/** What an API server would refuse of such a policy; undefined if nothing. */
function refusal(namespace: string, spec: object): string | undefined {
  const [problem] = decodeObject(policyObject('suggested', namespace, spec)).problems;
  return problem && `${(problem.field ?? '').replace(/^spec\./, '')} ${problem.message}`;
}

export function policyObject(name: string, namespace: string, spec: object): object {
  // In words, so that `kubectl apply` puts it in force where a policy of this name was audited.
  const annotations = { 'sluice.dev/enforcement': 'enforce' };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace, annotations },
    spec,
  };
}

function podsIn(namespace: string, podSelector: object, own: string): object {
  if (namespace === own) return { podSelector };
  return { namespaceSelector: { matchLabels: { [NAMESPACE_NAME_LABEL]: namespace } }, podSelector };
}
