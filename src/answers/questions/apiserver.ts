/**
 * The API server as an end. Every cluster has its Service default/kubernetes, which no manifest of an application holds;
 * where it leads is in an EndpointSlice that the API server writes itself. Policy judges these endpoints (N61).
 */
import { type Address, addressBits, addressToInt, cidrRange, familyOf } from '../../model/address.ts';
import { addressesOfNode, type Cluster } from '../../model/cluster.ts';
import type { FlowProtocol } from '../../model/flow.ts';
import type { Inventory } from '../../model/inventory.ts';
import { podCidrsOf } from '../../model/podcidrs.ts';
import type { Rule } from '../../model/policy.ts';
import type { EndpointSlice, Service, ServiceKey } from '../../model/service.ts';
import { FlowTextError } from '../../semantics/flowtext.ts';
import { parseEndpoint } from './endpoint.ts';
import type { ClusterView, ResolvedEndpoint, Target, Targets, UnlessSame } from './place.ts';
import { INTERNET, PRIVATE, without } from './ranges.ts';

export const API_SERVER: ServiceKey = 'default/kubernetes';

/** As the API server makes it; its ports lead to those of its endpoints, as far as these are known. */
export function apiServerService(inventory: Inventory): Service {
  const ports = slicesOf(inventory).flatMap(slice => slice.ports);
  const [{ name, port }] = [...ports, { name: 'https', port: USUAL_PORT }] as [(typeof ports)[number]];
  return {
    key: API_SERVER,
    namespace: 'default',
    name: 'kubernetes',
    type: 'ClusterIP',
    clusterIps: [],
    externalIps: [],
    headless: false,
    ports: [{ name, protocol: 'TCP', port: 443, target: port }],
  };
}

/** Most API servers listen on one of these. */
const USUAL_PORT = 6443;
const SECOND_PORT = 443;

function slicesOf({ slices }: Inventory): readonly EndpointSlice[] {
  return [...slices.values()].filter(({ service }) => service === API_SERVER);
}

/** The inventory with these endpoints of the API server: `172.18.0.2:6443`. Throws FlowTextError where one cannot be read. */
export function withApiServer(inventory: Inventory, texts: readonly string[] = []): Inventory {
  if (texts.length === 0) return inventory;
  const others = [...inventory.slices].filter(([, { service }]) => service !== API_SERVER);
  const given = texts.map(text => [`--api-server ${text}`, sliceAt(text)] as const);
  return { ...inventory, slices: new Map([...others, ...given]) };
}

function sliceAt(text: string): EndpointSlice {
  const { name, port = String(USUAL_PORT), protocol } = parseEndpoint(text);
  if (name.kind !== 'address' || !/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65_535 || protocol)
    throw new FlowTextError(`"${text}" is no endpoint of the API server: write 172.18.0.2:${USUAL_PORT}`);
  return {
    key: `default/kubernetes (${text})`,
    service: API_SERVER,
    family: familyOf(name.address),
    ports: [{ name: 'https', protocol: 'TCP', port: Number(port) }],
    endpoints: [{ addresses: [name.address], ready: true }],
  };
}

/** The known endpoints: each address with its ports. */
export function apiServerEndpoints(inventory: Inventory): ReadonlyMap<Address, readonly number[]> {
  const found = new Map<Address, number[]>();
  for (const { endpoints, ports } of slicesOf(inventory))
    for (const address of endpoints.flatMap(({ ready, addresses }) => (ready ? addresses : [])))
      found.set(address, [...(found.get(address) ?? []), ...ports.map(({ port }) => port)]);
  return found;
}

/** Remarks on its addresses, by the CIDRs of a policy that names them. */
export function apiServerRemarks(inventory: Inventory): ReadonlyMap<string, string> {
  const addresses = [...apiServerEndpoints(inventory).keys()];
  const remark = endpointRemark(API_SERVER);
  return new Map(addresses.map(address => [`${address}/${addressBits(familyOf(address))}`, remark]));
}

/** The remark on the address of an endpoint that no pod has. */
export function endpointRemark(service: ServiceKey): string {
  return `an endpoint of Service ${service}${service === API_SERVER ? ', the API server' : ''}`;
}

/** As a source: what it sends has the address of one of its endpoints. */
export function apiServerPlaces(view: ClusterView): readonly ResolvedEndpoint[] {
  const known = [...apiServerEndpoints(view.inventory).keys()];
  if (known.length === 0) return unknownPlaces(view);
  return known.map(address => ({ name: address, addresses: [address], service: API_SERVER }));
}

/** Absent where the endpoints are known. The answer holds if it is the same for all that the API server may have. */
export function unlessSameApiServer({ cluster, inventory }: ClusterView): UnlessSame | undefined {
  if (apiServerEndpoints(inventory).size > 0) return undefined;
  // A rule that means nodes may mean one of which there is no object.
  const asksNodes = rulesIn(cluster).some(
    ({ peers }) => peers !== 'any' && peers.some(({ kind }) => kind === 'nodes'),
  );
  const isAll = !asksNodes && askedPorts(cluster).length <= MOST_PORTS;
  return { why: NOT_KNOWN, isAll };
}

const NOT_KNOWN =
  'the endpoints of the API server are not known: its EndpointSlice was not read (--api-server names them)';

/** Any address that no pod has, on each port that policies tell apart. */
export function unknownApiServer(view: ClusterView, service: Service, protocol: FlowProtocol): Targets {
  const ports = askedPorts(view.cluster).slice(0, MOST_PORTS);
  const targets = unknownPlaces(view).flatMap(endpoint =>
    ports.map((port): Target => ({ endpoint, protocol, port, service })),
  );
  return { targets, notes: [] };
}

const MOST_PORTS = 50;
const MOST_NODES = 20;

function unknownPlaces({ cluster }: ClusterView): ResolvedEndpoint[] {
  const nodes = [...cluster.nodes.values()];
  const pods = nodes.flatMap(podCidrsOf).map(cidrRange);
  const ofNodes = nodes.slice(0, MOST_NODES).flatMap(addressesOfNode);
  const holes = ofNodes.map(address => {
    const value = addressToInt(address);
    return { family: familyOf(address), first: value, last: value };
  });
  const within = without([...PRIVATE, ...INTERNET], [...pods, ...holes]);
  const common = { name: 'the API server', service: API_SERVER };
  return [
    { ...common, addresses: [], unassigned: { within } },
    ...ofNodes.map(address => ({ ...common, name: `the API server on ${address}`, addresses: [address] })),
  ];
}

/** The usual ones first, then the first and last ones of rules, and those beside them. */
function askedPorts(cluster: Cluster): number[] {
  const edges = rulesIn(cluster).flatMap(({ ports }) =>
    ports === 'any'
      ? []
      : ports.flatMap(port =>
          port.kind === 'range' && port.protocol === 'TCP' && port.first <= port.last
            ? [port.first - 1, port.first, port.last, port.last + 1]
            : [],
        ),
  );
  const valid = edges.filter(port => port >= 1 && port <= 65_535);
  return [...new Set([USUAL_PORT, SECOND_PORT, ...valid])];
}

function rulesIn({ policies }: Cluster): readonly Rule[] {
  return [...policies.values()].flatMap(({ egress = [] }) => egress);
}
