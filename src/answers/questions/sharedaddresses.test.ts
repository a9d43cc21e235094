/** Addresses that several Services have, or a Service and a node; and Services that lead to endpoints of one node alone. */
import { describe, expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { answer } from './answer.ts';

const node = (n: number) =>
  `{ apiVersion: v1, kind: Node, metadata: { name: n${n} }, status: { addresses: [{ type: InternalIP, address: 192.168.7.${n} }, { type: InternalIP, address: 'fd00:7::${n}' }] } }`;
const pod = (name: string, n: number, ip: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: edge, labels: { app: ${name.split('-')[0]} } }, spec: { nodeName: n${n}, containers: [{ name: c }] }, status: { podIPs: [{ ip: ${ip} }, { ip: 'fd00:${n}::${ip.split('.')[3]}' }] } }`;
const service = (name: string, spec: string, ingress = '') =>
  `{ apiVersion: v1, kind: Service, metadata: { name: ${name}, namespace: edge }, spec: { selector: { app: ${name} }, ${spec} }, status: { loadBalancer: { ingress: [${ingress}] } } }`;
const closed = (app: string) =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: ${app}, namespace: edge }, spec: { podSelector: { matchLabels: { app: ${app} } }, policyTypes: [Ingress] } }`;
const view = (...objects: string[]) => clusterView(objects.join('\n---\n'), { defaultNamespace: 'edge' });

const PODS = [
  pod('sensor', 2, '10.2.0.9'),
  pod('proxy', 1, '10.1.0.2'),
  pod('broker', 1, '10.1.0.3'),
  pod('dns', 1, '10.1.0.4'),
];

test.each([
  ['clusterIP: 10.96.0.9', ['deny', 'allow', 'deny', 'allow']],
  ["clusterIPs: [10.96.0.9, 'fd96::9']", ['deny', 'deny', 'deny', 'deny']],
  // The pod behind has addresses of both families; which ones the Service will have is not known.
  ['clusterIP: ""', ['deny', 'deny', 'deny', 'deny']],
])('a port of a node is a Service’s in the families of its ClusterIPs: %s', (ips, expected) => {
  const spec = `type: NodePort, ${ips}, ports: [{ port: 80, nodePort: 30080 }]`;
  const known = view(...[1, 2].map(node), ...PODS, service('broker', spec), closed('broker'));
  const to = ['192.168.7.1:30080', '[fd00:7::1]:30080', 'node/n1@4:30080', 'node/n1@6:30080'];
  expect(to.map(end => answer(known, { from: 'edge/sensor', to: end }).verdict)).toEqual(expected);
});

describe('an address that several Services share', () => {
  const shared = view(
    ...[1, 2].map(node),
    ...PODS,
    service('proxy', 'type: LoadBalancer, ports: [{ name: web, port: 80 }]', '{ ip: 192.168.7.1 }'),
    service('broker', 'type: LoadBalancer, ports: [{ port: 1883 }]', '{ ip: 192.168.7.1 }'),
    service('dns', 'type: LoadBalancer, ports: [{ port: 53, protocol: UDP }]', '{ ip: 203.0.113.9 }'),
    service('dnstcp', 'type: LoadBalancer, ports: [{ port: 53 }], externalIPs: [203.0.113.9]'),
    closed('broker'),
  );
  const ask = (from: string, to: string) => {
    const { verdict, cases } = answer(shared, { from, to });
    return [verdict, ...new Set(cases.map(each => each.to.endpoint.name))];
  };

  test.each([
    ['192.168.7.1:1883', ['deny', 'edge/broker']],
    ['192.168.7.1:80', ['allow', 'edge/proxy']],
    ['192.168.7.1:web', ['allow', 'edge/proxy']],
    ['203.0.113.9:53/UDP', ['allow', 'edge/dns']],
    // A port that no Service has is the node's own.
    ['192.168.7.1:10250', ['allow', '192.168.7.1']],
    ['node/n1:10250', ['allow', 'node n1']],
    ['node/n1', ['allow', 'node n1']],
    ['node/n2:22', ['allow', 'node n2']],
    ['192.168.7.1:80/UDP', ['allow', '192.168.7.1']],
    // The Service has the node's IPv4 address alone.
    ['node/n1:1883', ['deny', 'edge/broker', 'node n1']],
    ['node/n1@4:1883', ['deny', 'edge/broker']],
    ['node/n1@6:1883', ['allow', 'node n1']],
  ])('is that of the one with the port: %s', (to, expected) => {
    expect(ask('edge/sensor', to)).toEqual(expected);
  });

  test('is no end where neither a Service has the port nor a node the address', () => {
    expect(() => ask('edge/sensor', '203.0.113.9:80')).toThrow(
      'none of Service edge/dns, Service edge/dnstcp has port 80/TCP (ports of Service edge/dns: 53/UDP; ports of Service edge/dnstcp: 53/TCP)',
    );
  });

  test('a node that dials a port of a node gets there as well', () => {
    expect(ask('node/n2', 'node/n1:10250')).toEqual(['allow', 'node n1']);
  });

  test('that is a node has this node alone as the way in from outside', () => {
    const cases = answer(shared, { from: '198.51.100.7', to: '192.168.7.1:1883' }).cases;
    expect(cases.map(({ viaNode }) => viaNode)).toEqual([undefined]);
    // The own node of a pod knows the Service, whichever node has the address.
    const [inside] = answer(shared, { from: 'edge/sensor', to: '192.168.7.1:1883' }).cases;
    expect([inside?.viaNode, inside?.dialled]).toEqual(['192.168.7.2', undefined]);
  });
});

describe('internalTrafficPolicy: Local', () => {
  const slice = `{ apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: { name: host-1, namespace: edge, labels: { kubernetes.io/service-name: host } }, addressType: IPv4, ports: [{ port: 9100 }], endpoints: [{ addresses: [192.168.7.1], nodeName: n1 }, { addresses: [192.168.7.2], nodeName: n2 }] }`;
  const objects = [
    ...[1, 2, 3].map(node),
    pod('client-1', 1, '10.1.0.9'),
    pod('client-2', 2, '10.2.0.9'),
    pod('client-3', 3, '10.3.0.9'),
    pod('cache-1', 1, '10.1.0.2'),
    pod('cache-2', 2, '10.2.0.2'),
    service(
      'cache',
      'clusterIP: 10.96.0.3, internalTrafficPolicy: Local, ports: [{ port: 53, protocol: UDP }]',
    ),
    service('host', 'clusterIP: 10.96.0.4, internalTrafficPolicy: Local, ports: [{ port: 9100 }]'),
    slice,
    `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: cache, namespace: edge }, spec: { podSelector: { matchLabels: { app: cache } }, ingress: [{ from: [{ ipBlock: { cidr: 10.1.0.0/24 } }, { ipBlock: { cidr: 'fd00:1::/64' } }] }] } }`,
  ];
  const known = view(...objects);
  const ask = (from: string, to: string) => {
    const { verdict, cases } = answer(known, { from, to });
    return [verdict, ...new Set(cases.map(each => each.to.endpoint.name))];
  };

  test('judges the endpoint of the node of the client', () => {
    expect(ask('edge/client-1', 'svc/cache:53/UDP')).toEqual(['allow', 'edge/cache-1']);
    expect(ask('edge/client-2', 'svc/cache:53/UDP')).toEqual(['deny', 'edge/cache-2']);
    expect(ask('node/n2', '10.96.0.3:53/UDP')).toEqual(['allow', 'edge/cache-2']);
    expect(ask('edge/client-2', 'svc/host:9100')).toEqual(['allow', '192.168.7.2']);
  });

  test('says that nobody answers where the node has none', () => {
    const { verdict, reason } = answer(known, { from: 'edge/client-3', to: 'svc/cache:53/UDP' });
    expect(verdict).toBe('undecided');
    expect(reason).toBe(
      'Service edge/cache has internalTrafficPolicy Local, and no endpoint is on the node of edge/client-3: connections get no answer, whatever policy says',
    );
  });

  test('judges all endpoints for a pod whose node is not known', () => {
    expect(ask('edge/app=new', 'svc/cache:53/UDP')).toEqual(['deny', 'edge/cache-1', 'edge/cache-2']);
  });
});

describe('ipMode: Proxy', () => {
  const world = (ingress: string, mode = ', ipMode: Proxy') =>
    view(
      ...[1, 2].map(node),
      ...PODS,
      service(
        'proxy',
        'type: LoadBalancer, ports: [{ port: 80, targetPort: 8080 }]',
        `{ ip: 203.0.113.20${mode} }`,
      ),
      '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: out, namespace: edge }, spec: { podSelector: { matchLabels: { app: sensor } }, policyTypes: [Egress], egress: [{ to: [{ ipBlock: { cidr: 203.0.113.0/24 } }], ports: [{ port: 80 }] }] } }',
      ingress,
    );
  const allowing = (cidr: string) =>
    `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: in, namespace: edge }, spec: { podSelector: { matchLabels: { app: proxy } }, ingress: [{ from: [{ ipBlock: { cidr: ${cidr} } }] }] } }`;
  const ask = (known: ReturnType<typeof world>) =>
    answer(known, { from: 'edge/sensor', to: '203.0.113.20:80' });

  test('is not short-circuited: egress sees the load balancer', () => {
    expect(ask(world(allowing('0.0.0.0/0'))).verdict).toBe('allow');
    expect(ask(world(allowing('0.0.0.0/0'), '')).verdict).toBe('deny');
    expect(ask(world(allowing('0.0.0.0/0'))).notes.join()).toContain(
      'kube-proxy leaves alone (ipMode: Proxy)',
    );
  });

  test('has no verdict where the pods behind let in some of those whom they may see', () => {
    expect(ask(world(closed('proxy'))).verdict).toBe('deny');
    for (const cidr of ['203.0.113.20/32', '192.168.7.0/24', '10.2.0.9/32'])
      expect(ask(world(allowing(cidr))).verdict).toBe('undecided');
  });
});
