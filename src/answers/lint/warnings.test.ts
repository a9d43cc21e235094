/** Details of single warnings; docs/check.md has an example of each, which test/unit/warnings.test.ts holds. */
import { describe, expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { problemNote, type WarningCode } from '../../model/problem.ts';
import { lint } from './lint.ts';

const deployment = (name: string, labels = `app: ${name}`, ports = '', namespace = 'shop') =>
  `{ apiVersion: apps/v1, kind: Deployment, metadata: { name: ${name}, namespace: ${namespace} }, spec: { template: { metadata: { labels: { ${labels} } }, spec: { containers: [{ name: c, ports: [${ports}] }] } } } }`;
const service = (name: string, ports: string) =>
  `{ apiVersion: v1, kind: Service, metadata: { name: ${name}, namespace: shop }, spec: { selector: { app: ${name} }, ports: [${ports}] } }`;
const policy = (spec: string, name = 'p', namespace = 'shop') =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: ${name}, namespace: ${namespace} }, spec: { ${spec} } }`;
const of = (app: string) => `podSelector: { matchLabels: { app: ${app} } }`;
const namespace = (name: string, labels = '') =>
  `{ apiVersion: v1, kind: Namespace, metadata: { name: ${name}, labels: { ${labels} } } }`;

/** A node, and what every cluster has. */
const WHOLE = `{ apiVersion: v1, kind: Node, metadata: { name: n1 } }\n---\n${namespace('kube-system')}`;

function found(code: WarningCode, ...objects: string[]): string[] {
  const { cluster, inventory } = clusterView(objects.join('\n---\n'));
  return lint(cluster, inventory, [])
    .filter(problem => problem.code === code)
    .map(problem => `${problem.object}: ${problemNote(problem)}`);
}

describe('empty-peer', () => {
  const from = (peer: string) => policy(`${of('api')}, ingress: [{ from: [{ ${peer} }] }]`);
  const texts = (peer: string, ...more: string[]) =>
    found('empty-peer', deployment('api'), ...more, from(peer));

  test.each([
    ['the value is nearly one that is there', of('apj'), 'did you mean app=api?'],
    [
      'the value is there under another key',
      'podSelector: { matchLabels: { name: api } }',
      'did you mean app=api?',
    ],
    ['nothing is near', of('frontend'), undefined],
    [
      'the namespace is known by its name',
      `namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: shop } }, ${of('x')}`,
      undefined,
    ],
  ])('%s', (_, peer, hint) => {
    const [text = '', ...others] = texts(peer);
    expect(others).toEqual([]);
    expect(text).toContain(
      'spec.ingress[0].from has a peer that means none of the pods and workloads that are there: ',
    );
    expect(/did you mean [^)]*/.exec(text)?.[0]).toBe(hint);
  });

  test.each([
    ['somebody is meant', of('api')],
    [
      'the namespace has nobody',
      `namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: other } }, ${of('x')}`,
    ],
    ['the labels of namespaces are not known', `namespaceSelector: { matchLabels: { team: a } }, ${of('x')}`],
  ])('silent where %s', (_, peer) => expect(texts(peer)).toEqual([]));

  test('labels of namespaces decide where they are known, and the cluster is whole', () => {
    const peer = `namespaceSelector: { matchLabels: { team: a } }, ${of('x')}`;
    expect(texts(peer, WHOLE, namespace('shop', 'team: a'))).toHaveLength(1);
    expect(texts(peer, WHOLE, namespace('shop', 'team: b'))).toEqual([expect.stringContaining('not there')]);
    expect(texts(peer, WHOLE)).toEqual([]);
    expect(texts(peer, namespace('shop', 'team: a'))).toEqual([]);
  });

  test.each([
    ['team: opps', 'team=ops'],
    ['team: osp', 'team=ops'],
    ['kubernetes.io/metadata.name: monitorng', 'kubernetes.io/metadata.name=monitoring'],
    ['team: opt', undefined],
    ['team: ops2', undefined],
    ['tier: ops-b', undefined],
  ])('namespaces of %s are taken for misspelt, or for others that are not in the folder', (labels, meant) => {
    const peer = `namespaceSelector: { matchLabels: { ${labels} } }`;
    const found = texts(peer, namespace('shop'), namespace('monitoring', 'team: ops, tier: ops-a'));
    expect(found.map(text => /did you mean ([^?]*)/.exec(text)?.[1])).toEqual(
      meant === undefined ? [] : [meant],
    );
  });

  test('pods and their namespaces in two items of a list, where only as one they mean anybody', () => {
    const prometheus =
      '{ apiVersion: apps/v1, kind: Deployment, metadata: { name: prometheus, namespace: monitoring }, spec: { template: { metadata: { labels: { app: prometheus } } } } }';
    const [spaces, pods] = ['namespaceSelector: { matchLabels: { team: ops } }', of('prometheus')];
    const said = (...items: string[]) =>
      texts(items.join(' }, { '), namespace('monitoring', 'team: ops'), prometheus);
    const note = (item: number, how: string) => [
      `NetworkPolicy shop/p: spec.ingress[0].from[${item}] means none of the pods and workloads that are there: pods app=prometheus in namespace shop (two items in \`from\` mean either one; to mean both in one, as Deployment monitoring/prometheus, ${how}); the peer matches nothing until there is one`,
    ];
    expect(said(spaces, pods)).toEqual(note(1, 'remove the `-` before podSelector'));
    expect(said(pods, spaces)).toEqual(note(0, 'remove the `-` before namespaceSelector'));
    const network = 'ipBlock: { cidr: 192.0.2.0/24 }';
    expect(said(spaces, network, pods)).toEqual(note(2, 'write both selectors in one item'));
    // An item that has namespaces of its own cannot be one with the other.
    const elsewhere = `namespaceSelector: { matchLabels: { team: dev } }, ${pods}`;
    expect(said(spaces, elsewhere).join()).not.toContain('two items');
  });

  test('no namespace has the labels: where one has the value under another key, or the cluster is whole', () => {
    const peer = (labels: string) => `namespaceSelector: { matchLabels: { ${labels} } }`;
    const shop = namespace('shop', 'team: shoppers');
    const note = (selector: string, hint: string) =>
      `NetworkPolicy shop/p: spec.ingress[0].from has a peer that means namespaces that are not there: ${selector}${hint}; the peer matches nothing until there is one`;
    expect(texts(peer('name: shop'), shop)).toEqual([
      note('name=shop', ' (did you mean kubernetes.io/metadata.name=shop?)'),
    ]);
    expect(texts(peer('owner: shoppers'), shop)).toEqual([
      note('owner=shoppers', ' (did you mean team=shoppers?)'),
    ]);
    expect(texts(peer('team: bankers'), shop)).toEqual([]);
    expect(texts(peer('team: bankers'), shop, WHOLE)).toEqual([note('team=bankers', '')]);
    expect(
      texts(peer('team: bankers'), shop, '{ apiVersion: v1, kind: Node, metadata: { name: n1 } }'),
    ).toEqual([]);
    expect(texts(peer('name: shop'))).toEqual([]);
    expect(texts(peer('name: kube-system'), shop, WHOLE)).toEqual([]);
    expect(texts(peer('kubernetes.io/metadata.name: kube-system'), shop, WHOLE)).toEqual([]);
  });

  test('all of several namespaces have to be known', () => {
    const peer = (names: string) =>
      `namespaceSelector: { matchExpressions: [{ key: kubernetes.io/metadata.name, operator: In, values: [${names}] }] }, ${of('x')}`;
    expect(texts(peer('shop'))).toHaveLength(1);
    expect(texts(peer('shop, other'))).toEqual([]);
  });
});

test.each([
  ['matchLabels: { acme.cert-manager.io/http01-solver: "true" }', 0],
  ['matchExpressions: [{ key: tekton.dev/pipelineRun, operator: Exists }]', 0],
  [
    'matchExpressions: [{ key: acme.cert-manager.io/http01-solver, operator: DoesNotExist }], matchLabels: { app: x }',
    1,
  ],
  ['matchLabels: { acme.example.org/solver: "true" }', 1],
  ['matchLabels: { shop-db-client: "true" }', 0],
  ['matchLabels: { shop-db-client: postgres }', 1],
])(
  'pods that a controller makes on demand, or that want to be let in, need not be there: %s',
  (selector, count) => {
    const who = `podSelector: { ${selector} }`;
    expect(found('empty-subject', deployment('web'), policy(who))).toHaveLength(count);
    const peer = policy(`${of('web')}, ingress: [{ from: [{ ${who} }] }]`);
    expect(found('empty-peer', deployment('web'), peer)).toHaveLength(count);
  },
);

test('empty-subject: the namespaces of a cluster policy', () => {
  const guard = (labels: string) =>
    `{ apiVersion: policy.networking.k8s.io/v1alpha2, kind: ClusterNetworkPolicy, metadata: { name: guard }, spec: { tier: Admin, priority: 1, subject: { namespaces: { matchLabels: { ${labels} } } } } }`;
  expect(found('empty-subject', namespace('shop'), guard('name: shop'))).toEqual([
    'ClusterNetworkPolicy guard: spec.subject means namespaces that are not there: name=shop (did you mean kubernetes.io/metadata.name=shop?); the policy decides nothing',
  ]);
  expect(found('empty-subject', namespace('shop'), guard('kubernetes.io/metadata.name: shop'))).toEqual([]);
});

describe('wrong-namespace', () => {
  const texts = (...objects: string[]) =>
    found('wrong-namespace', deployment('worker', undefined, '', 'team-b'), ...objects);
  const misplaced = policy(of('worker'), 'p', 'team-a');

  test('names who is meant', () => {
    expect(texts(misplaced)).toEqual([
      'NetworkPolicy team-a/p: metadata.namespace is "team-a", where nobody has the labels app=worker, and Deployment team-b/worker has them; the policy decides nothing: it selects pods of its own namespace alone',
    ]);
    expect(texts(misplaced, deployment('other', undefined, '', 'team-a'))).toHaveLength(1);
  });

  test.each([
    ['somebody is in its own', [deployment('worker', undefined, '', 'team-a')]],
    ['the other namespace has the policy too', [policy(of('worker'), 'q', 'team-b')]],
    ['the other namespace has a policy of that name', [policy('podSelector: {}', 'p', 'team-b')]],
  ])('silent where %s', (_, more) => expect(texts(misplaced, ...more)).toEqual([]));

  test('silent of what names no namespace', () => {
    const unnamed = [deployment('worker', undefined, '', 'default'), misplaced];
    expect(found('wrong-namespace', ...unnamed)).toEqual([]);
  });

  test('silent of a policy for all pods', () => {
    expect(texts(policy('podSelector: {}', 'p', 'team-a'))).toEqual([]);
  });
});

describe('service-port', () => {
  const HTTP = '{ name: http, containerPort: 8080 }';
  const texts = (rules: string, ports = HTTP, target = 'http') =>
    found(
      'service-port',
      deployment('api', undefined, ports),
      service('api', `{ port: 80, targetPort: ${target} }`),
      policy(`${of('api')}, ${rules}`),
      policy(
        `${of('web')}, policyTypes: [Egress], egress: [{ to: [{ ${of('api')} }], ports: [{ port: 80 }] }]`,
        'out',
      ),
    );

  test('of ingress and of egress, with what to write', () => {
    const note = (path: string) =>
      `spec.${path}.ports[0].port names port TCP 80, which is the port of Service shop/api: Deployment shop/api listens on 8080; policy sees the port of the pod, so the port matches nothing: write 8080 or "http"`;
    expect(texts('ingress: [{ ports: [{ port: 80 }] }]')).toEqual([
      `NetworkPolicy shop/out: ${note('egress[0]')}`,
      `NetworkPolicy shop/p: ${note('ingress[0]')}`,
    ]);
    expect(texts('ingress: []', '', '8080')).toHaveLength(1);
  });

  test.each([
    ['a pod listens on the port too', 'ingress: []', `${HTTP}, { containerPort: 80 }`, 'http'],
    ['the Service leads to the same port', 'ingress: []', '{ containerPort: 80 }', '80'],
    ['nobody has a port of that name', 'ingress: []', '', 'http'],
  ])('silent where %s', (_, rules, ports, target) => expect(texts(rules, ports, target)).toEqual([]));

  test('silent of a rule that has the right port too, of ranges, and of another protocol', () => {
    const own = (ports: string) =>
      texts(`ingress: [{ ports: [${ports}] }]`).filter(text => text.includes('ingress'));
    expect(own('{ port: 80 }, { port: 8080 }')).toEqual([]);
    expect(own('{ port: 80 }, { port: http }')).toEqual([]);
    expect(own('{ port: 80, endPort: 90 }')).toEqual([]);
    expect(own('{ port: 80, protocol: UDP }')).toEqual([]);
  });

  test('of DNS whose pods listen on another port', () => {
    const dns = deployment('dns', undefined, '{ name: dns, containerPort: 5353, protocol: UDP }');
    const out = policy(
      `podSelector: {}, policyTypes: [Egress], egress: [{ to: [{ ${of('dns')} }], ports: [{ port: 53, protocol: UDP }] }]`,
    );
    const behind = service('dns', '{ port: 53, protocol: UDP, targetPort: dns }');
    expect(found('service-port', dns, behind, out)).toEqual([expect.stringContaining('write 5353 or "dns"')]);
  });
});

describe('no-dns without domain names', () => {
  const out = (rules: string) => policy(`${of('web')}, policyTypes: [Egress], egress: [${rules}]`);
  const TO_API = `{ to: [{ ${of('api')} }] }`;
  const BASE = [deployment('web'), deployment('api'), service('api', '{ port: 80 }')];
  const texts = (rules: string, ...more: string[]) => found('no-dns', ...BASE, out(rules), ...more);

  test('a Service that is allowed, and hosts outside', () => {
    const note = (what: string) =>
      `NetworkPolicy shop/p: spec.egress lets shop/deploy/web reach ${what}, and no rule lets it ask the cluster's DNS (UDP and TCP 53); no name of a Service or host resolves: allow port 53 to the pods of DNS`;
    expect(texts(TO_API)).toEqual([note('Service shop/api')]);
    expect(texts('{ ports: [{ port: 443 }] }')).toEqual([note('hosts outside')]);
    expect(texts('{ ports: [{ port: http }, { port: 443 }] }')).toEqual([note('hosts outside')]);
    const named = service('other', '{ port: 80, targetPort: http }');
    expect(texts('{ ports: [{ port: http }] }', named)).toEqual([note('Service shop/other')]);
  });

  test.each([
    [
      'another policy allows DNS',
      TO_API,
      [
        policy(
          `podSelector: {}, policyTypes: [Egress], egress: [{ ports: [{ port: 53, protocol: UDP }] }]`,
          'dns',
        ),
      ],
    ],
    ['DNS is TCP alone', `${TO_API}, { ports: [{ port: 53 }] }`, []],
    ['its pods listen on another port', `${TO_API}, { ports: [{ port: 5353, protocol: UDP }] }`, []],
    ['a network may hold a server', `${TO_API}, { to: [{ ipBlock: { cidr: 10.0.0.0/8 } }] }`, []],
    [
      'all pods of kube-system are allowed',
      `${TO_API}, { to: [{ namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: kube-system } } }] }`,
      [],
    ],
    ['everything is allowed', '{}', []],
    ['nothing is allowed', '', []],
    ['what is allowed has no Service', `{ to: [{ ${of('web')} }] }`, []],
    ['ports by name are allowed, which no host outside has', '{ ports: [{ port: http }] }', []],
    ['what is allowed are addresses', '{ to: [{ ipBlock: { cidr: 192.0.2.7/32 } }] }', []],
  ])('silent where %s', (_, rules, more) => expect(texts(rules, ...more)).toEqual([]));

  test('a pod is warned of once', () => {
    expect(
      texts(TO_API, policy(`${of('web')}, policyTypes: [Egress], egress: [{ ports: [{ port: 443 }] }]`, 'q')),
    ).toHaveLength(1);
  });
});

describe('covered-rule', () => {
  const texts = (...rules: string[]) =>
    found('covered-rule', policy(`podSelector: {}, ingress: [${rules.join(', ')}]`));
  const FROM = (peer: string, ports = '') => `{ from: [{ ${peer} }]${ports && `, ports: [${ports}]`} }`;

  test.each([
    ['equal rules', [FROM(of('a')), FROM(of('a'))], 'ingress[1]', 'ingress[0]'],
    ['everybody', [FROM(of('a')), '{}'], 'ingress[0]', 'ingress[1]'],
    [
      'fewer ports',
      [FROM(of('a'), '{ port: 80, endPort: 90 }'), FROM(of('a'), '{ port: 81 }')],
      'ingress[1]',
      'ingress[0]',
    ],
    [
      'ports beside each other',
      [FROM(of('a'), '{ port: 80 }, { port: 81 }'), FROM(of('a'), '{ port: 80, endPort: 81 }')],
      'ingress[1]',
      'ingress[0]',
    ],
    [
      'all ports of a protocol',
      [FROM(of('a'), '{ protocol: TCP }'), FROM(of('a'), '{ port: http }')],
      'ingress[1]',
      'ingress[0]',
    ],
    [
      'a network within',
      [FROM('ipBlock: { cidr: 10.0.0.0/8, except: [10.9.0.0/16] }'), FROM('ipBlock: { cidr: 10.1.0.0/16 }')],
      'ingress[1]',
      'ingress[0]',
    ],
    ['its own namespace of all', [FROM('namespaceSelector: {}'), FROM(of('a'))], 'ingress[1]', 'ingress[0]'],
    [
      'one value of two',
      [
        FROM('podSelector: { matchExpressions: [{ key: app, operator: In, values: [a, b] }] }'),
        FROM(of('a')),
      ],
      'ingress[1]',
      'ingress[0]',
    ],
    [
      'a value where the key is enough',
      [FROM('podSelector: { matchExpressions: [{ key: app, operator: Exists }] }'), FROM(of('a'))],
      'ingress[1]',
      'ingress[0]',
    ],
    [
      'another value than the excluded one',
      [
        FROM('podSelector: { matchExpressions: [{ key: app, operator: NotIn, values: [b] }] }'),
        FROM(of('a')),
      ],
      'ingress[1]',
      'ingress[0]',
    ],
  ])('%s', (_, rules, narrow, wide) => {
    expect(texts(...rules)).toEqual([
      `NetworkPolicy shop/p: spec.${narrow} matches nothing that spec.${wide} does not match too; it can be removed`,
    ]);
  });

  test.each([
    ['other peers', [FROM(of('a')), FROM(of('b'))]],
    ['other ports', [FROM(of('a'), '{ port: 80 }'), FROM(of('a'), '{ port: 81 }')]],
    ['another protocol', [FROM(of('a'), '{ port: 80 }'), FROM(of('a'), '{ port: 80, protocol: UDP }')]],
    [
      'an exception within',
      [FROM('ipBlock: { cidr: 10.0.0.0/8, except: [10.1.2.0/24] }'), FROM('ipBlock: { cidr: 10.1.0.0/16 }')],
    ],
    [
      'the excluded value',
      [
        FROM('podSelector: { matchExpressions: [{ key: app, operator: NotIn, values: [a] }] }'),
        FROM(of('a')),
      ],
    ],
    ['another family', [FROM('ipBlock: { cidr: 0.0.0.0/0 }'), FROM("ipBlock: { cidr: '::/0' }")]],
  ])('silent of %s', (_, rules) => expect(texts(...rules)).toEqual([]));

  const admin = (rules: string, priority = 1, name = 'guard') =>
    `{ apiVersion: policy.networking.k8s.io/v1alpha2, kind: ClusterNetworkPolicy, metadata: { name: ${name} }, spec: { tier: Admin, priority: ${priority}, subject: { namespaces: {} }, ingress: [${rules}] } }`;
  const rule = (action: string, namespaces = '') =>
    `{ action: ${action}, from: [{ namespaces: { ${namespaces} } }] }`;
  const ofPolicy = policy(`podSelector: {}, ingress: [${FROM(of('a'))}]`);

  test('a rule that the Admin tier denies before', () => {
    expect(found('covered-rule', admin(rule('Deny')), ofPolicy)).toEqual([
      'NetworkPolicy shop/p: spec.ingress[0] matches nothing that ClusterNetworkPolicy guard does not match in spec.ingress[0]; the rule allows nothing: that one denies it before',
    ]);
  });

  test.each([
    ['accepts', admin(rule('Accept'))],
    ['passes it on before', admin(`${rule('Pass')}, ${rule('Deny')}`)],
    ['denies others', admin(rule('Deny', 'matchLabels: { team: x }'))],
  ])('silent where the Admin tier %s', (_, guard) => {
    expect(found('covered-rule', guard, ofPolicy).filter(text => text.startsWith('NetworkPolicy'))).toEqual(
      [],
    );
  });

  test('C59: an accepted network does not cover a denied one, which means nodes at all of their addresses', () => {
    const out = (action: string, network: string) =>
      `{ action: ${action}, to: [{ networks: [${network}] }] }`;
    const of = (rules: string[], ...more: string[]) =>
      found('covered-rule', ...more, admin('').replace('ingress: []', `egress: [${rules.join(', ')}]`));
    const node =
      '{ apiVersion: v1, kind: Node, metadata: { name: n1 }, status: { addresses: [{ type: InternalIP, address: 10.1.0.7 }] } }';
    const rules = [out('Accept', '10.0.0.0/8'), out('Deny', '10.1.0.0/16')];
    expect(of(rules, node)).toEqual([]);
    expect(of(rules)).toHaveLength(1);
    expect(of([rules[0]!, out('Deny', '10.2.0.0/16')], node)).toHaveLength(1);
    expect(of([out('Deny', '10.0.0.0/8'), out('Accept', '10.1.0.0/16')], node)).toHaveLength(1);
  });

  test('a rule of a tier that never decides, and not the earlier one', () => {
    expect(
      found('covered-rule', admin(`${rule('Deny')}, ${rule('Accept', 'matchLabels: { team: x }')}`)),
    ).toEqual([
      'ClusterNetworkPolicy guard: spec.ingress[1] matches nothing that spec.ingress[0] does not match too; the rule never decides: spec.ingress[0] comes first and has the action Deny',
    ]);
    expect(
      found('covered-rule', admin(`${rule('Accept', 'matchLabels: { team: x }')}, ${rule('Deny')}`)),
    ).toEqual([]);
  });
});

describe('entrances', () => {
  const WEB = [deployment('web'), service('web', '{ name: http, port: 80, targetPort: 8080 }')];
  const ingress = (backend: string) =>
    `{ apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: { name: in, namespace: shop }, spec: { rules: [{ http: { paths: [{ backend: { service: ${backend} } }] } }] } }`;
  const route = (ref: string) =>
    `{ apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: { name: in, namespace: shop }, spec: { rules: [{ backendRefs: [${ref}] }] } }`;
  const openshift = (to: string, port: number | string = '""') =>
    `{ apiVersion: route.openshift.io/v1, kind: Route, metadata: { name: in, namespace: shop }, spec: { to: { kind: Service, name: ${to} }, port: { targetPort: ${port} } } }`;

  test.each([
    [
      'a number',
      ingress('{ name: web, port: { number: 81 } }'),
      'names port 81 of Service shop/web, which has 80 (http)',
    ],
    [
      'a name',
      ingress('{ name: web, port: { name: https } }'),
      'names port https of Service shop/web, which has 80 (http)',
    ],
    [
      'a Service',
      ingress('{ name: wbe, port: { number: 80 } }'),
      'names Service shop/wbe, which does not exist',
    ],
    [
      'a port of a route',
      route('{ name: web, port: 8080 }'),
      'names port 8080 of Service shop/web, which has 80 (http)',
    ],
    ['a Service of a Route', openshift('wbe'), 'names Service shop/wbe, which does not exist'],
    [
      'the port of the Service of a Route',
      openshift('web', 80),
      'names port 80 of pods, and Service shop/web leads to 8080 (http)',
    ],
    [
      'a port of a Route by name',
      openshift('web', 'https'),
      'names port https of pods, and Service shop/web leads to 8080 (http)',
    ],
  ])('missing-service: %s', (_, object, text) => {
    expect(found('missing-service', ...WEB, object)).toEqual([expect.stringContaining(text)]);
  });

  test.each([
    ['what is there, by number', ingress('{ name: web, port: { number: 80 } }')],
    ['what is there, by name', ingress('{ name: web, port: { name: http } }')],
    ['another namespace, of which no Service is known', route('{ name: x, namespace: other, port: 1 }')],
    ['what an annotation says', ingress('{ name: redirect, port: { name: use-annotation } }')],
    ['no port of a Route', openshift('web')],
    ['a port of pods of a Route', openshift('web', 8080)],
    ['a port of a Route by its name', openshift('web', 'http')],
    ['another kind', route('{ kind: S3Bucket, group: example.org, name: x, port: 1 }')],
  ])('missing-service: silent of %s', (_, object) =>
    expect(found('missing-service', ...WEB, object)).toEqual([]),
  );

  const IN = ingress('{ name: web, port: { number: 80 } }');
  const lets = (rule: string) => policy(`${of('web')}, ingress: [${rule}]`);

  test('closed-entrance: pods of the own namespace are no controller', () => {
    expect(
      found('closed-entrance', ...WEB, deployment('api'), IN, lets(`{ from: [{ ${of('api')} }] }`)),
    ).toEqual([
      'Ingress shop/in: spec.rules[0].http.paths[0].backend.service leads by Service shop/web to port 8080 of Deployment shop/web, and no policy opens that to anybody outside; NetworkPolicy shop/p selects it, so clients outside get no answer',
    ]);
  });

  test.each([
    ['no policy selects the pods', []],
    ['anybody may come', [lets('{}')]],
    [
      'pods of another namespace may come',
      [lets('{ from: [{ namespaceSelector: { matchLabels: { team: ops } } }] }')],
    ],
    [
      'a controller of the own namespace may come',
      [deployment('ingress-nginx'), lets(`{ from: [{ ${of('ingress-nginx')} }] }`)],
    ],
    ['a network may come', [lets('{ from: [{ ipBlock: { cidr: 192.0.2.0/24 } }] }')]],
  ])('closed-entrance: silent where %s', (_, more) => {
    expect(found('closed-entrance', ...WEB, IN, ...more)).toEqual([]);
  });

  test('closed-entrance: another port is open', () => {
    expect(found('closed-entrance', ...WEB, IN, lets('{ ports: [{ port: 9090 }] }'))).toHaveLength(1);
    expect(found('closed-entrance', ...WEB, IN, lets('{ ports: [{ port: 8080 }] }'))).toEqual([]);
  });
});

test('service-address: the address of a load balancer, unless it is a node’s', () => {
  const balancer =
    '{ apiVersion: v1, kind: Service, metadata: { name: lb, namespace: shop }, spec: { type: LoadBalancer }, status: { loadBalancer: { ingress: [{ ip: 192.0.2.7 }] } } }';
  const node =
    '{ apiVersion: v1, kind: Node, metadata: { name: n1 }, status: { addresses: [{ type: InternalIP, address: 192.0.2.7 }] } }';
  const out = (cidr: string) =>
    policy(`podSelector: {}, policyTypes: [Egress], egress: [{ to: [{ ipBlock: { cidr: ${cidr} } }] }]`);
  expect(found('service-address', balancer, out('192.0.2.7/32'))).toHaveLength(1);
  expect(found('service-address', balancer, out('192.0.2.0/24'))).toEqual([]);
  expect(found('service-address', balancer, node, out('192.0.2.7/32'))).toEqual([]);
  const asks = (more: string, spec = '') =>
    `{ apiVersion: v1, kind: Service, metadata: { name: lb, namespace: shop, annotations: { ${more} } }, spec: { type: LoadBalancer ${spec} } }`;
  expect(found('service-address', asks('', ', loadBalancerIP: 192.0.2.7'), out('192.0.2.7/32'))).toHaveLength(
    1,
  );
  const metallb = asks('metallb.io/loadBalancerIPs: "192.0.2.7, 2001:db8::7"');
  expect(found('service-address', metallb, out('2001:db8::7/128'))).toHaveLength(1);
  for (const other of [asks('', ', loadBalancerIP: nonsense'), asks('metallb.io/loadBalancerIPs: ","')])
    expect(found('service-address', other, out('192.0.2.7/32'))).toEqual([]);
});

test('no-dns and dns-anyone have a fix unless DNS is said to be elsewhere', () => {
  const dns = (name: string, where: string, target: number, app = 'kube-dns') =>
    `{ apiVersion: apps/v1, kind: Deployment, metadata: { name: ${name}, namespace: ${where} }, spec: { template: { metadata: { labels: { k8s-app: ${app} } } } } }\n---\n{ apiVersion: v1, kind: Service, metadata: { name: ${name}, namespace: ${where} }, spec: { selector: { k8s-app: ${app} }, ports: [{ port: 53, protocol: UDP, targetPort: ${target} }] } }`;
  const out = policy(
    `${of('web')}, policyTypes: [Egress], egress: [{ ports: [{ port: 443 }] }, { to: [{ namespaceSelector: {}, podSelector: { matchLabels: { k8s-app: kube-dns } } }], ports: [{ port: 9153 }] }]`,
  );
  const fixes = (...more: string[]) => {
    const { cluster, inventory } = clusterView([deployment('web'), out, ...more].join('\n---\n'));
    return lint(cluster, inventory, []).flatMap(({ code, fix }) => (fix === undefined ? [] : [code]));
  };
  const both = ['dns-anyone', 'no-dns'];
  expect(fixes()).toEqual(both);
  expect(fixes(dns('kube-dns', 'kube-system', 53))).toEqual(both);
  expect(fixes(dns('pihole', 'home', 53))).toEqual(both);
  expect(fixes(dns('kube-dns', 'kube-system', 8053))).toEqual([]);
  expect(fixes(dns('dns-default', 'openshift-dns', 5353, 'dns'))).toEqual([]);
  expect(fixes(dns('kube-dns', 'kube-system', 53, 'coredns'))).toEqual([]);
});

test('dns-anyone: not where the namespace is named', () => {
  const to = (namespaces: string) =>
    policy(
      `podSelector: {}, policyTypes: [Egress], egress: [{ to: [{ ${namespaces} podSelector: { matchLabels: { k8s-app: kube-dns } } }] }]`,
    );
  expect(found('dns-anyone', to('namespaceSelector: {},'))).toHaveLength(1);
  expect(found('dns-anyone', to('namespaceSelector: { matchLabels: { a: b } },'))).toEqual([]);
  expect(found('dns-anyone', to(''))).toEqual([]);
});
