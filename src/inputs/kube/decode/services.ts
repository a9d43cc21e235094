/** Services and their endpoints, for questions about connections to them. */

import { type Address, parseAddress } from '../../../model/address.ts';
import type { PodKey } from '../../../model/cluster.ts';
import { PROTOCOLS } from '../../../model/policy.ts';
import type { Endpoint, EndpointSlice, Service, ServicePort } from '../../../model/service.ts';
import type { Field } from './fields.ts';
import { readLabels, readName, readNamespace } from './metadata.ts';

const TYPES = ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'] as const;

export function decodeService(object: Field): Service | undefined {
  const name = readName(object);
  const namespace = readNamespace(object);
  if (name === undefined || namespace === undefined) return undefined;
  const spec = object.get('spec');
  const clusterIps = spec.get('clusterIPs').isPresent
    ? spec.get('clusterIPs').items()
    : [spec.get('clusterIP')];
  const externalName = spec.get('externalName').text();
  const selector = spec.get('selector');
  const proxied = serviceAddresses(loadBalancerIps(object, 'Proxy'));
  const wanted = wantedIps(object);
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    type: spec.get('type').oneOf(TYPES) ?? 'ClusterIP',
    clusterIps: serviceAddresses(clusterIps),
    externalIps: serviceAddresses([...spec.get('externalIPs').items(), ...loadBalancerIps(object, 'VIP')]),
    ...(proxied.length > 0 && { proxiedIps: proxied }),
    ...(wanted.length > 0 && { wantedIps: wanted }),
    ...(spec.get('externalTrafficPolicy').value === 'Local' && { keepsSource: true as const }),
    ...(spec.get('internalTrafficPolicy').value === 'Local' && { isNodeLocal: true as const }),
    headless: clusterIps[0]?.value === 'None',
    ...(externalName && { externalName }),
    ...(selector.keys().length > 0 && { selector: Object.fromEntries(selector.textEntries()) }),
    ports: spec.get('ports').items().flatMap(readPort),
  };
}

/** The API server fills in VIP. */
function loadBalancerIps(object: Field, mode: 'VIP' | 'Proxy'): readonly Field[] {
  const ingress = object.get('status').get('loadBalancer').get('ingress').items();
  const ofMode = ingress.filter(item => (item.get('ipMode').value === 'Proxy') === (mode === 'Proxy'));
  return ofMode.map(item => item.get('ip')).filter(({ isPresent }) => isPresent);
}

/** `spec.loadBalancerIP` is deprecated since Kubernetes 1.24, and MetalLB has annotations in its place. */
function wantedIps(object: Field): readonly Address[] {
  const spec = object.get('spec');
  const hasOne = object.get('status').get('loadBalancer').get('ingress').items().length > 0;
  if (spec.get('type').value !== 'LoadBalancer' || hasOne) return [];
  const annotations = object.get('metadata').get('annotations');
  const texts = [spec.get('loadBalancerIP'), ...WANTED_BY.map(key => annotations.get(key))];
  return texts.flatMap(({ value }) =>
    typeof value === 'string' ? value.split(',').flatMap(text => parseAddress(text.trim()) ?? []) : [],
  );
}

const WANTED_BY = ['metallb.io/loadBalancerIPs', 'metallb.universe.tf/loadBalancerIPs'];

/** `None`, and nothing, are no addresses. */
export function serviceAddresses(fields: readonly Field[]): Address[] {
  return fields
    .filter(({ value, isPresent }) => isPresent && value !== '' && value !== 'None')
    .flatMap(field => field.parsed('an IP address', parseAddress) ?? []);
}

function readPort(field: Field): ServicePort[] {
  const port = field.get('port').requiredInteger(1, 65535);
  if (port === undefined) return [];
  const nodePort = field.get('nodePort').integer(0, 65535) || undefined;
  const protocol = field.get('protocol').oneOf(PROTOCOLS) ?? 'TCP';
  const name = field.get('name').text() ?? '';
  const target = targetOf(field.get('targetPort')) ?? port;
  return [{ name, protocol, port, target, ...(nodePort !== undefined && { nodePort }) }];
}

/** Absent, 0 and empty mean the port itself. */
function targetOf(field: Field): number | string | undefined {
  if (!field.isPresent || field.value === 0 || field.value === '') return undefined;
  return typeof field.value === 'string' ? field.value : field.integer(1, 65535);
}

const SERVICE_LABEL = 'kubernetes.io/service-name';

export function decodeEndpointSlice(object: Field): EndpointSlice | undefined {
  const name = readName(object);
  const namespace = readNamespace(object);
  const service = readLabels(object)[SERVICE_LABEL];
  const type = object.get('addressType').oneOf(['IPv4', 'IPv6', 'FQDN']);
  if (name === undefined || namespace === undefined || service === undefined) return undefined;
  if (type === undefined || type === 'FQDN') return undefined;
  return {
    key: `${namespace}/${name}`,
    service: `${namespace}/${service}`,
    family: type === 'IPv4' ? 'ip' : 'ip6',
    ports: object.get('ports').items().flatMap(readSlicePort),
    endpoints: object
      .get('endpoints')
      .items()
      .map(endpoint => readEndpoint(endpoint, namespace)),
  };
}

export function readSlicePort(field: Field): EndpointSlice['ports'][number][] {
  const port = field.get('port').integer(1, 65535);
  if (port === undefined) return [];
  return [
    { name: field.get('name').text() ?? '', protocol: field.get('protocol').oneOf(PROTOCOLS) ?? 'TCP', port },
  ];
}

/** An endpoint counts as ready unless it says otherwise. */
function readEndpoint(field: Field, namespace: string): Endpoint {
  const pod = endpointPod(field, namespace);
  const node = field.get('nodeName').text();
  return {
    addresses: serviceAddresses(field.get('addresses').items()),
    ready: field.get('conditions').get('ready').boolean() ?? true,
    ...(pod && { pod }),
    ...(node && { node }),
  };
}

export function endpointPod(endpoint: Field, namespace: string): PodKey | undefined {
  const target = endpoint.get('targetRef');
  const name = target.get('kind').value === 'Pod' ? target.get('name').text() : undefined;
  return name === undefined ? undefined : `${namespace}/${name}`;
}
