/** Ways from outside through ingress controllers: who serves what, and at which of the two connections policy closes it. */
import { describe, expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { answer } from '../questions/answer.ts';
import { csvLines, dotLines } from '../reach/documents.ts';
import { matrixObject, rowsOf } from '../reach/rows.ts';
import { matrixViewOf } from '../reach/view.ts';
import { entrywaysFromInternet, entrywaysOfAnswer, entrywaysOfMatrix } from './entryways.ts';
import { doubtNotes, entrywayGroups, entrywayText } from './waytext.ts';

const namespace = (name: string, labels = '') =>
  `{ apiVersion: v1, kind: Namespace, metadata: { name: ${name}, labels: { ${labels} } } }`;
const deployment = (key: string, labels: string, more = '') => {
  const [of, name] = key.split('/');
  return `{ apiVersion: apps/v1, kind: Deployment, metadata: { name: ${name}, namespace: ${of} }, spec: { template: { metadata: { labels: { ${labels} } }, spec: { containers: [{ name: c, ports: [{ name: http, containerPort: 8080 }, { name: tls, containerPort: 8443 }] }]${more} } } } }`;
};
const service = (key: string, selector: string, ports: string, type = 'ClusterIP') => {
  const [of, name] = key.split('/');
  return `{ apiVersion: v1, kind: Service, metadata: { name: ${name}, namespace: ${of} }, spec: { type: ${type}, selector: { ${selector} }, ports: [${ports}] } }`;
};
const policy = (key: string, spec: string) => {
  const [of, name] = key.split('/');
  return `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: ${name}, namespace: ${of} }, spec: { ${spec} } }`;
};
const ingress = (spec: string, annotations = '') =>
  `{ apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: { name: web, namespace: shop, annotations: { ${annotations} } }, spec: { ${spec}${spec && ', '}defaultBackend: { service: { name: web, port: { number: 80 } } } } }`;
const route = (spec: string, kind = 'HTTPRoute') =>
  `{ apiVersion: gateway.networking.k8s.io/v1, kind: ${kind}, metadata: { name: web, namespace: shop }, spec: { ${spec} rules: [{ backendRefs: [{ name: web, port: 80 }] }] } }`;
const classOf = (name: string, controller: string, annotations = '') =>
  `{ apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: { name: ${name}, annotations: { ${annotations} } }, spec: { controller: ${controller} } }`;
const from = (selector: string, ports = '') =>
  `podSelector: { matchLabels: { app: web } }, ingress: [{ from: [{ ${selector} }]${ports} }]`;

const WEB = [
  deployment('shop/web', 'app: web'),
  service('shop/web', 'app: web', '{ port: 80, targetPort: http }'),
];
const NGINX_LABELS = 'app.kubernetes.io/name: ingress-nginx, app.kubernetes.io/component: controller';
const NGINX = deployment('ingress-nginx/controller', NGINX_LABELS);
const TRAEFIK = deployment('kube-system/traefik', 'app.kubernetes.io/name: traefik');
const EDGE = deployment('edge/proxy', 'app: edge');

const viewOf = (...texts: string[]) => clusterView([...WEB, ...texts].join('\n---\n'));
const found = (texts: readonly string[], named: readonly string[] = []) =>
  entrywaysFromInternet(viewOf(...texts), named);

/** `allow ingress-nginx/controller -> shop/web:8080`. */
function ways(texts: readonly string[], named: readonly string[] = []): string[] {
  return found(texts, named).ways.map(({ verdict, controller, to, port }) => {
    return `${verdict} ${controller} -> ${to}:${port}`;
  });
}

const THROUGH = (controller: string) => [`allow ${controller} -> Deployment shop/web:8080`];
const BY_NGINX = THROUGH('Deployment ingress-nginx/controller');
const BY_EDGE = THROUGH('Deployment edge/proxy');

describe('who serves it', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['the only controller that is there', [ingress(''), NGINX], BY_NGINX],
    ['the one of a class by its usual name', [ingress('ingressClassName: nginx'), NGINX, TRAEFIK], BY_NGINX],
    [
      'the one of the class in the annotation',
      [ingress('', 'kubernetes.io/ingress.class: nginx'), NGINX, TRAEFIK],
      BY_NGINX,
    ],
    [
      'the one that the class names',
      [ingress('ingressClassName: traefik'), classOf('traefik', 'k8s.io/ingress-nginx'), NGINX, TRAEFIK],
      BY_NGINX,
    ],
    [
      'with a suffix',
      [ingress('ingressClassName: a'), classOf('a', 'k8s.io/ingress-nginx/a'), NGINX, TRAEFIK],
      BY_NGINX,
    ],
    [
      'the one of the default class',
      [
        ingress(''),
        classOf('a', 'traefik.io/ingress-controller'),
        classOf('b', 'k8s.io/ingress-nginx', 'ingressclass.kubernetes.io/is-default-class: "true"'),
        NGINX,
        TRAEFIK,
      ],
      BY_NGINX,
    ],
    [
      'what runs in its namespace',
      [ingress('ingressClassName: nginx'), deployment('ingress-nginx/controller', 'app: mine'), TRAEFIK],
      BY_NGINX,
    ],
    [
      'no Job of that namespace',
      [
        ingress('ingressClassName: nginx'),
        NGINX,
        '{ apiVersion: batch/v1, kind: Job, metadata: { name: admission, namespace: ingress-nginx }, spec: { template: { metadata: { labels: { app.kubernetes.io/name: ingress-nginx } }, spec: { containers: [] } } } }',
      ],
      BY_NGINX,
    ],
    [
      'the pods of the Gateway',
      [
        route('parentRefs: [{ name: gw, namespace: edge }],'),
        deployment('edge/proxy', 'gateway.networking.k8s.io/gateway-name: gw'),
        deployment('other/proxy', 'gateway.networking.k8s.io/gateway-name: gw'),
      ],
      BY_EDGE,
    ],
    [
      'the pods that Envoy Gateway makes of it',
      [
        route('parentRefs: [{ name: gw }],'),
        deployment(
          'edge/proxy',
          'gateway.envoyproxy.io/owning-gateway-name: gw, gateway.envoyproxy.io/owning-gateway-namespace: shop',
        ),
      ],
      BY_EDGE,
    ],
    [
      'the controller of the class of the Gateway',
      [
        route('parentRefs: [{ name: gw, namespace: edge }],', 'GRPCRoute'),
        '{ apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: { name: gw, namespace: edge }, spec: { gatewayClassName: c } }',
        '{ apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: { name: c }, spec: { controllerName: traefik.io/gateway-controller } }',
        NGINX,
        TRAEFIK,
      ],
      THROUGH('Deployment kube-system/traefik'),
    ],
    [
      'the router',
      [
        '{ apiVersion: route.openshift.io/v1, kind: Route, metadata: { name: web, namespace: shop }, spec: { to: { name: web } } }',
        deployment(
          'openshift-ingress/router-default',
          'ingresscontroller.operator.openshift.io/deployment-ingresscontroller: default',
        ),
      ],
      THROUGH('Deployment openshift-ingress/router-default'),
    ],
  ])('%s', (_, texts, expected) => {
    expect(ways(texts)).toEqual(expected);
    expect(found(texts).doubts).toEqual([]);
  });

  test.each<[string, readonly string[], RegExp]>([
    [
      'no class and no controller',
      [ingress('')],
      /^Ingress shop\/web: which pods serve it is not known: .*--ingress-controller$/,
    ],
    ['no class and two controllers', [ingress(''), NGINX, TRAEFIK], /is not known/],
    ['a class of its own', [ingress('ingressClassName: mine'), NGINX], /is not known/],
    [
      'a Gateway that is not there',
      [route('parentRefs: [{ name: gw }],')],
      /^HTTPRoute shop\/web: .* is not known/,
    ],
    [
      'a route of a mesh',
      [
        route('parentRefs: [{ kind: Service, group: "", name: web }],'),
        deployment('shop/gw', 'gateway.networking.k8s.io/gateway-name: web'),
      ],
      /is not known/,
    ],
    ['a cloud', [ingress('ingressClassName: alb')], /alb makes a load balancer outside of the cluster/],
    [
      'a cloud, by the class',
      [ingress('ingressClassName: x'), classOf('x', 'ingress.k8s.aws/alb'), NGINX],
      /ingress\.k8s\.aws\/alb makes a load balancer outside/,
    ],
  ])('%s: one sentence, and no way', (_, texts, sentence) => {
    const all = found(texts);
    expect(all.ways).toEqual([]);
    expect(doubtNotes(all)).toEqual([expect.stringMatching(sentence)]);
  });

  test.each<[string, string, readonly string[]]>([
    ['a workload', 'edge/proxy', BY_EDGE],
    ['a workload with its kind', 'edge/deploy/proxy', BY_EDGE],
    ['labels of pods that are not there', 'edge/app=proxy', THROUGH('edge/app=proxy')],
  ])('named: %s', (_, name, expected) => {
    expect(ways([ingress('ingressClassName: mine'), EDGE, NGINX], [name])).toEqual(expected);
  });

  test('one that is named serves what is not known, and of its kind alone what is', () => {
    const other = deployment('edge/proxy', NGINX_LABELS);
    expect(ways([ingress('ingressClassName: nginx'), EDGE, NGINX], ['edge/proxy'])).toEqual(BY_NGINX);
    expect(ways([ingress('ingressClassName: nginx'), other, NGINX], ['edge/proxy'])).toEqual(BY_EDGE);
  });

  test.each(['edge/nobody', 'svc/web', 'edge/proxy:80'])('named: %s is nobody', name => {
    expect(() => ways([ingress(''), EDGE], [name])).toThrow();
  });

  test('without its pods those are assumed that it usually has, and a note says so', () => {
    const open = [
      ingress('ingressClassName: nginx'),
      policy(
        'shop/web',
        from('namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: ingress-nginx } }'),
      ),
    ];
    const all = found(open);
    expect(all.ways).toMatchObject([{ controller: 'ingress-nginx', isAssumed: true, verdict: 'allow' }]);
    expect(doubtNotes(all)).toEqual([
      'Ingress shop/web: there is no pod of ingress-nginx: assumed are pods app.kubernetes.io/name=ingress-nginx,app.kubernetes.io/component=controller in namespace ingress-nginx (--ingress-controller names others)',
    ]);
    const closed = found([
      open[0]!,
      policy('shop/web', from('podSelector: { matchLabels: { app: other } }')),
    ]);
    expect(closed.ways).toMatchObject([{ verdict: 'deny' }]);
    expect(closed.ways[0]!.steps[1]!.reason).toContain('allows ingress from ingress-nginx on TCP 8080');
    // The namespace may have any labels.
    const label = found([
      open[0]!,
      policy('shop/web', from('namespaceSelector: { matchLabels: { team: edge } }')),
    ]);
    expect(label.ways).toMatchObject([{ verdict: 'undecided' }]);
  });

  test('the namespace of the router has the labels by which OpenShift selects it', () => {
    const openshift =
      '{ apiVersion: route.openshift.io/v1, kind: Route, metadata: { name: web, namespace: shop }, spec: { to: { name: web } } }';
    const lets = (key: string, value: string) =>
      ways([openshift, policy('shop/web', from(`namespaceSelector: { matchLabels: { ${key}: ${value} } }`))]);
    expect(lets('network.openshift.io/policy-group', 'ingress')).toEqual(THROUGH('the router'));
    expect(lets('policy-group.network.openshift.io/ingress', '""')).toEqual(THROUGH('the router'));
    expect(lets('network.openshift.io/policy-group', 'monitoring')).toEqual([
      'deny the router -> Deployment shop/web:8080',
    ]);
  });
});

describe('which connection is denied', () => {
  const all = (...texts: string[]) => found([ingress('ingressClassName: nginx'), NGINX, ...texts]);
  const verdicts = (...texts: string[]) =>
    all(...texts).ways.map(({ verdict, steps }) => [verdict, ...steps.map(each => each.verdict)]);

  test.each<[string, readonly string[], readonly string[]]>([
    ['none', [], ['allow', 'allow', 'allow']],
    ['the first', [policy('ingress-nginx/p', 'podSelector: {}, ingress: []')], ['deny', 'deny', 'allow']],
    ['the second, at its ingress', [policy('shop/p', 'podSelector: {}')], ['deny', 'allow', 'deny']],
    [
      'the second, at its egress',
      [policy('ingress-nginx/p', 'podSelector: {}, policyTypes: [Egress]')],
      ['deny', 'allow', 'deny'],
    ],
    [
      'another port is open',
      [policy('shop/p', from('namespaceSelector: {}', ', ports: [{ port: 80 }]'))],
      ['deny', 'allow', 'deny'],
    ],
    [
      'this port is open',
      [policy('shop/p', from('namespaceSelector: {}', ', ports: [{ port: http }]'))],
      ['allow', 'allow', 'allow'],
    ],
  ])('%s', (_, texts, expected) => {
    expect(verdicts(...texts)).toEqual([expected]);
  });

  test('a controller is open where one of the ports is to which its Service leads', () => {
    const door = service(
      'ingress-nginx/controller',
      'app.kubernetes.io/component: controller',
      '{ name: a, port: 80, targetPort: http }, { name: b, port: 443, targetPort: tls }',
      'LoadBalancer',
    );
    const open = (port: string) =>
      policy('ingress-nginx/p', `podSelector: {}, ingress: [{ ports: [{ port: ${port} }] }]`);
    expect(all(door, open('tls')).ways[0]!.steps[0]).toMatchObject({ port: 8443, verdict: 'allow' });
    expect(all(door, open('443')).ways[0]!.steps[0]).toMatchObject({ port: 8080, verdict: 'deny' });
    expect(all(open('443')).ways[0]!.steps[0]).toMatchObject({ port: 443, verdict: 'allow' });
  });

  test('some addresses may', () => {
    const some = all(
      policy(
        'ingress-nginx/p',
        'podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: 198.51.100.0/24 } }] }]',
      ),
    );
    expect(some.ways).toMatchObject([
      { verdict: 'deny', steps: [{ verdict: 'deny', isPartial: true }, { verdict: 'allow' }] },
    ]);
    expect(entrywayText(entrywayGroups(some)[0]!)).toContain(
      'by Ingress shop/web: denied in part at internet -> ingress-nginx/controller:80: NetworkPolicy ingress-nginx/p',
    );
    const view = viewOf(
      ingress('ingressClassName: nginx'),
      NGINX,
      policy(
        'ingress-nginx/p',
        'podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: 198.51.100.0/24 } }] }]',
      ),
    );
    const asked = (source: string) =>
      entrywaysOfAnswer(view, answer(view, { from: source, to: 'deploy/web:8080' }), []).ways.map(
        ({ verdict }) => verdict,
      );
    expect([asked('198.51.100.7'), asked('203.0.113.7'), asked('10.0.0.7'), asked('deploy/web')]).toEqual([
      ['allow'],
      ['deny'],
      [],
      [],
    ]);
  });

  test('a controller on the network of its node is the node, to policy', () => {
    const node =
      '{ apiVersion: v1, kind: Node, metadata: { name: n1 }, status: { addresses: [{ type: InternalIP, address: 172.18.0.2 }] } }';
    const onNode = deployment('ingress-nginx/controller', NGINX_LABELS, ', hostNetwork: true');
    const texts = [ingress('ingressClassName: nginx'), onNode, node];
    const block = (cidr: string) => policy('shop/p', from(`ipBlock: { cidr: ${cidr} }`));
    expect(ways(texts)).toEqual(BY_NGINX);
    expect(ways([...texts, block('172.18.0.0/16')])).toEqual(BY_NGINX);
    expect(ways([...texts, block('10.0.0.0/8')])[0]).toMatch(/^deny/);
    expect(
      ways([...texts, policy('ingress-nginx/p', 'podSelector: {}, policyTypes: [Ingress, Egress]')]),
    ).toEqual(BY_NGINX);
  });
});

describe('a load balancer', () => {
  const balancer = service('shop/lb', 'app: web', '{ port: 443, targetPort: http }', 'LoadBalancer');
  const lines = (...texts: readonly string[]) =>
    entrywayGroups(entrywaysOfMatrix(viewOf(balancer, ...texts))).map(
      group => `${group.way.verdict} ${entrywayText(group)}`,
    );
  const closed = policy('shop/web', from('podSelector: {}'));

  test('leads clients to the pods behind it, in one connection', () => {
    expect(lines()).toEqual(['allow internet -> shop/web:8080, by Service shop/lb']);
    expect(lines(closed)).toEqual([
      expect.stringMatching(/^deny internet -> shop\/web:8080, by Service shop\/lb: denied: .*shop\/web/),
    ]);
    expect(lines(policy('shop/web', from('ipBlock: { cidr: 8.0.0.0/8 }')))).toEqual([
      expect.stringMatching(/^deny internet -> .*: denied in part: /),
    ]);
  });

  test('of a controller begins the ways through it, and is none itself', () => {
    const doors = service('ingress-nginx/lb', NGINX_LABELS, '{ port: 80, targetPort: http }', 'LoadBalancer');
    expect(lines(NGINX, doors, ingress('ingressClassName: nginx'))).toEqual([
      'allow internet -> ingress-nginx/controller -> shop/web:8080, by Ingress shop/web',
      'allow internet -> shop/web:8080, by Service shop/lb',
    ]);
    expect(lines(NGINX, doors)).toContain(
      'allow internet -> ingress-nginx/controller:8080, by Service ingress-nginx/lb',
    );
  });

  test('is a line and an arrow in documents, and an entryway without a controller in JSON', () => {
    const view = { ...viewOf(balancer) };
    const whole = { ...matrixViewOf(view, 'allow'), entryways: entrywaysOfMatrix(view) };
    const rows = rowsOf(whole, () => true);
    expect([...csvLines(whole, rows)]).toContain(
      'internet by Service shop/lb,shop/web,TCP 8080,TCP 8080,,open',
    );
    expect(dotLines(whole, rows).join('\n')).toMatch(
      /outside \[label="internet".*\n\s+outside -> end\d+ \[label="TCP 8080 by Service shop\/lb"\]/,
    );
    const { entryways } = matrixObject(whole, rows, []) as { entryways: readonly object[] };
    expect(entryways).toEqual([expect.not.objectContaining({ controller: expect.anything() })]);
    expect(entryways).toMatchObject([
      { field: 'spec.type', steps: [{ from: 'internet', verdict: 'allow' }] },
    ]);
  });

  test('that leads to nobody is no way, and neither is a Service of another type', () => {
    const other = service('shop/np', 'app: web', '{ port: 80, targetPort: http }', 'NodePort');
    const nobody = service('shop/none', 'app: none', '{ port: 80 }', 'LoadBalancer');
    expect(lines(other, nobody)).toHaveLength(1);
  });
});

describe('what it leads to', () => {
  const openshift = (port: string) =>
    `{ apiVersion: route.openshift.io/v1, kind: Route, metadata: { name: web, namespace: shop }, spec: { to: { name: two }, port: { targetPort: ${port} } } }`;
  const two = service(
    'shop/two',
    'app: web',
    '{ name: a, port: 80, targetPort: 8080 }, { name: b, port: 81, targetPort: 9090 }',
  );

  test.each([
    ['a', [8080]],
    ['9090', [9090]],
    ['7', [8080, 9090]],
  ])('the port of a Route: %s', (port, expected) => {
    expect(found([two, openshift(port)]).ways.map(way => way.port)).toEqual(expected);
  });

  test('a UDPRoute means ports of UDP', () => {
    const dns = service(
      'shop/web',
      'app: web',
      '{ name: t, port: 80, targetPort: 1 }, { name: u, port: 80, protocol: UDP, targetPort: 2 }',
    );
    const of = (kind: string) =>
      entrywaysFromInternet(
        clusterView(
          [
            WEB[0]!,
            dns,
            route('parentRefs: [{ name: gw }],', kind),
            deployment('shop/gw', 'gateway.networking.k8s.io/gateway-name: gw'),
          ].join('\n---\n'),
        ),
      ).ways.map(({ port, protocol }) => `${port}/${protocol}`);
    expect([of('UDPRoute'), of('TCPRoute')]).toEqual([['2/UDP'], ['1/TCP']]);
  });

  test.each([
    ['no Service', ingress('ingressClassName: nginx').replace('name: web, port', 'name: other, port')],
    [
      'another name',
      `${service('shop/other', '', '{ port: 80 }', 'ExternalName')}\n---\n${ingress('ingressClassName: nginx').replace('name: web, port', 'name: other, port')}`,
    ],
  ])('nothing: %s', (_, text) => {
    expect(found([text, NGINX])).toEqual({ ways: [], doubts: [] });
  });

  test('what other objects lead to, and what is at other ports, is left out where the port is found', () => {
    const view = viewOf(
      NGINX,
      ingress(
        'ingressClassName: nginx, rules: [{ http: { paths: [{ backend: { service: { name: two, port: { number: 81 } } } }] } }]',
      ),
      two,
      namespace('shop'),
    );
    const ports = (port: number) =>
      entrywaysOfAnswer(view, answer(view, { from: 'internet', to: `deploy/web:${port}` }), []).ways.map(
        way => way.port,
      );
    expect([ports(8080), ports(9090), ports(443)]).toEqual([[8080], [9090], [8080, 9090]]);
    const elsewhere = answer(view, { from: 'internet', to: 'ingress-nginx/deploy/controller:8080' });
    expect(entrywaysOfAnswer(view, elsewhere, []).ways).toEqual([]);
  });

  test('names from a cluster may be anything', () => {
    const long = 'x'.repeat(5000);
    const odd = JSON.stringify({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: { name: '\u001b[31m', namespace: 'shop', annotations: 'no map' },
      spec: {
        ingressClassName: { a: 1 },
        rules: [null, { http: [] }],
        defaultBackend: { service: { name: 'web', port: { number: 80 } } },
      },
    });
    const gateways = JSON.stringify({
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: { name: 'r', namespace: 'shop' },
      spec: {
        parentRefs: [1, { name: {} }, { name: long, namespace: {} }],
        rules: [{ backendRefs: [{ name: 'web', port: 80 }] }],
      },
    });
    const cls = JSON.stringify({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name: '__proto__' },
      spec: null,
    });
    const all = found([odd, gateways, cls]);
    expect(all.ways).toEqual([]);
    expect(doubtNotes(all)).toEqual([
      expect.stringMatching(/^Ingress shop\/.*, HTTPRoute shop\/r: which pods/),
    ]);
  });
});

describe('a route that names a Service of another namespace', () => {
  const foreign = `{ apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: { name: r, namespace: other }, spec: { parentRefs: [{ name: g, namespace: ingress-nginx }], rules: [{ backendRefs: [{ name: web, namespace: shop, port: 80 }] }] } }`;
  const gateway =
    '{ apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: { name: g, namespace: ingress-nginx }, spec: { gatewayClassName: nginx } }';
  const grant = (from: string, to: string, at = 'shop') =>
    `{ apiVersion: gateway.networking.k8s.io/v1beta1, kind: ReferenceGrant, metadata: { name: g, namespace: ${at} }, spec: { from: [{ group: gateway.networking.k8s.io, ${from} }], to: [{ group: "", ${to} }] } }`;
  const routes = 'kind: HTTPRoute, namespace: other';
  const through = (...grants: string[]) => ways([NGINX, gateway, foreign, ...grants]);

  test('leads there where a ReferenceGrant of that namespace allows it', () => {
    expect(through(grant(routes, 'kind: Service'))).toEqual(BY_NGINX);
    expect(through(grant(routes, 'kind: Service, name: web'))).toEqual(BY_NGINX);
  });

  test.each([
    ['nobody grants it', []],
    ['the grant is of the namespace of the route', [grant(routes, 'kind: Service', 'other')]],
    ['the grant is for another Service', [grant(routes, 'kind: Service, name: db')]],
    ['the grant is for Secrets', [grant(routes, 'kind: Secret')]],
    ['the grant is to routes of another kind', [grant('kind: TCPRoute, namespace: other', 'kind: Service')]],
    ['the grant is to another namespace', [grant('kind: HTTPRoute, namespace: third', 'kind: Service')]],
  ])('leads nowhere where %s', (_, grants) => {
    expect(through(...grants)).toEqual([]);
  });
});
