/** Services are none of policy's business (it sees packets after their translation), but people use them. */
import { readFile } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';
import { listManifests } from '../../src/inputs/folder/folder.ts';
import { type Address, familyOf } from '../../src/model/address.ts';
import type { Cluster, Pod } from '../../src/model/cluster.ts';
import type { LabService } from '../lab/services.ts';
import { address } from '../lab/topology.ts';

/** The first port of a Service, and the first pod behind it. */
export interface KubeService {
  /** `namespace/name`. */
  readonly key: string;
  readonly front: readonly Address[];
  readonly port: number;
  readonly protocol: LabService['protocol'];
  readonly backend: readonly Address[];
  readonly targetPort: number;
}

export async function readServices(folder: string, cluster: Cluster): Promise<KubeService[]> {
  const texts = await Promise.all((await listManifests(folder)).map(file => readFile(file, 'utf8')));
  const objects = texts.flatMap(text =>
    parseAllDocuments(text).map(document => document.toJS() as Manifest | null),
  );
  return objects
    .filter(object => object?.kind === 'Service')
    .flatMap(object => serviceOf(object as Manifest, cluster));
}

/** The address translations of the lab's nodes. */
export function translations(services: readonly KubeService[]): LabService[] {
  return services.flatMap(({ front, port, protocol, backend, targetPort }) =>
    front.flatMap(at =>
      backend
        .filter(address => familyOf(address) === familyOf(at))
        .map(to => ({ front: { address: at, port }, protocol, back: { address: to, port: targetPort } })),
    ),
  );
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly spec: {
    readonly selector: Readonly<Record<string, string>>;
    readonly clusterIPs: readonly string[];
    readonly ports: readonly {
      port: number;
      targetPort: number | string;
      protocol: LabService['protocol'];
    }[];
  };
}

function serviceOf({ metadata: { namespace, name }, spec }: Manifest, cluster: Cluster): KubeService[] {
  const [first] = spec.ports;
  const backend = [...cluster.pods.values()].find(
    pod => pod.namespace === namespace && isSelected(pod, spec.selector),
  );
  if (first === undefined || backend === undefined) return [];
  const { port, protocol } = first;
  const targetPort = portNumber(backend, first.targetPort);
  const front = spec.clusterIPs.map(address);
  return [{ key: `${namespace}/${name}`, front, port, protocol, backend: backend.addresses, targetPort }];
}

function isSelected({ labels }: Pod, selector: Readonly<Record<string, string>>): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}

function portNumber({ key, ports }: Pod, target: number | string): number {
  if (typeof target === 'number') return target;
  const named = ports.find(({ name }) => name === target);
  if (named === undefined) throw new RangeError(`pod ${key} has no port called ${target}`);
  return named.port;
}
