/** The Helm chart, rendered by helm itself: what its values come to, and that it says what daemonset/ says. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { EACH_VALUE, valueFlags } from './eachvalue.ts';

const ROOT = join(import.meta.dirname, '../..');
const CHART = join(ROOT, 'charts/sluice');
const BIN = process.env.CHART_BIN ?? '';

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly securityContext: { readonly capabilities: { readonly add?: readonly string[] } };
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly annotations?: object };
  readonly rules?: readonly { readonly resources: readonly string[] }[];
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: readonly [Container]; readonly volumes: readonly Volume[] };
    };
  };
}

interface RemovalPod {
  readonly metadata: { readonly labels: object };
  readonly spec: { readonly containers: readonly [Container] };
}

interface Secret {
  readonly data: Readonly<Record<string, string>>;
}

interface Volume {
  readonly name: string;
  readonly hostPath: { readonly path: string };
}

const helm = (...words: string[]) => spawnSync(join(BIN, 'helm'), words, { encoding: 'utf8' });
const documents = (text: string) =>
  parseAllDocuments(text)
    .map(document => document.toJS() as Manifest | null)
    .filter(object => object !== null);

function render(...sets: string[]): Manifest[] {
  const words = sets.flatMap(set => ['--set', set]);
  const { status, stdout, stderr } = helm('template', 'sluice', CHART, '--namespace', 'sluice', ...words);
  expect(stderr).toBe('');
  expect(status).toBe(0);
  return documents(stdout);
}

/** `/startGate/mode` */
const leaves = (value: unknown, at = ''): string[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
    ? Object.entries(value).flatMap(([name, inner]) => leaves(inner, `${at}/${name}`))
    : [at];
const isHook = ({ metadata }: Manifest) => metadata.annotations !== undefined;
const key = ({ kind, metadata }: Manifest) => `${kind} ${metadata.name}`;
const find = (objects: readonly Manifest[], name: string) => objects.find(object => key(object) === name)!;

function agent(...sets: string[]): Container {
  return find(render(...sets), 'DaemonSet sluice').spec.template.spec.containers[0];
}

test('helm lint finds nothing wrong', () => {
  const { status, stdout } = helm('lint', '--strict', CHART);
  expect(stdout).toContain('0 chart(s) failed');
  expect(status).toBe(0);
});

test('with its default values it says what daemonset/install.yaml says, which brings its namespace too', () => {
  const installed = documents(readFileSync(join(ROOT, 'daemonset/install.yaml'), 'utf8'));
  const rendered = render().filter(object => !isHook(object));
  const byKey = (objects: readonly Manifest[]) =>
    Object.fromEntries(objects.map(object => [key(object), object]));
  const { 'Namespace sluice': namespace, ...others } = byKey(installed);
  expect(namespace).toBeDefined();
  expect(byKey(rendered)).toEqual(others);
});

test('attach comes to what the overlay pod-network adds', () => {
  const objects = render('podNetwork.mode=attach');
  const container = find(objects, 'DaemonSet sluice').spec.template.spec.containers[0];
  const overlay = readFileSync(join(ROOT, 'daemonset/overlays/pod-network/kustomization.yaml'), 'utf8');
  const values = parse(overlay).patches.flatMap(({ patch }: { patch: string }) =>
    (parse(patch) as { op: string; value?: unknown }[])
      .filter(({ op }) => op === 'add')
      .map(({ value }) => value),
  );
  const mounts = values.filter((value: { mountPath?: string }) => value.mountPath);
  expect(container.args).toEqual(
    expect.arrayContaining(values.filter((value: unknown) => String(value).startsWith('--'))),
  );
  expect(container.volumeMounts).toEqual(expect.arrayContaining(mounts));
  expect(mounts).toHaveLength(3);
  expect(container.securityContext.capabilities.add).toEqual(['NET_ADMIN', 'NET_RAW', 'SYS_ADMIN']);
  expect(container.securityContext).not.toHaveProperty('allowPrivilegeEscalation');
  expect(find(objects, 'ClusterRole sluice').rules!.at(-1)!.resources).toEqual(['nodes/status']);
});

describe('each value', () => {
  const plain = helm('template', 'sluice', CHART).stdout;

  test.each(Object.keys(EACH_VALUE))('%s changes what is rendered', path => {
    const { status, stdout, stderr } = helm('template', 'sluice', CHART, ...valueFlags(path));
    expect(stderr).toBe('');
    expect(status).toBe(0);
    expect(stdout).not.toBe(plain);
  });

  test('of values.yaml is among them', () => {
    const values = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8'));
    const named = Object.keys(EACH_VALUE);
    const given = leaves(values).map(path => path.slice(1).replaceAll('/', '.'));
    expect(given.filter(path => !named.some(name => `${path}.`.startsWith(`${name}.`)))).toEqual([]);
  });
});

describe('monitored', () => {
  const objects = render(
    ...['enabled', 'podMonitor', 'rules', 'dashboard'].map(each => `monitoring.${each}=true`),
  );
  const { containers, volumes } = find(objects, 'DaemonSet sluice').spec.template.spec;

  test('agents serve their metrics over TLS and for a token, and their probes where they did', () => {
    expect(containers[0].args).toEqual(
      expect.arrayContaining([
        '--scrape-address=0.0.0.0:9911',
        '--scrape-tls-dir=/etc/sluice/tls',
        '--scrape-token-file=/etc/sluice/token/token',
      ]),
    );
    expect(containers[0].args.join()).not.toContain('--metrics-address');
    expect(containers[0]).toMatchObject({
      ports: [{ name: 'metrics', containerPort: 9911, hostPort: 9911 }],
    });
    expect(volumes).toContainEqual({
      name: 'metrics-tls',
      secret: { secretName: 'sluice-metrics-tls', optional: true },
    });
  });

  test("certificate and token are the release's own, and no two releases have the same", () => {
    const secrets = (found: readonly Manifest[]) =>
      ['metrics-tls', 'metrics-token'].map(
        name => (find(found, `Secret sluice-${name}`) as unknown as Secret).data,
      );
    const [tls, token] = secrets(objects);
    expect(Object.keys({ ...tls, ...token }).sort()).toEqual(['tls.crt', 'tls.key', 'token']);
    expect(Buffer.from(token!.token!, 'base64').toString()).toMatch(/^[A-Za-z0-9]{40}$/);
    expect(secrets(render('monitoring.enabled=true'))).not.toEqual([tls, token]);
    const given = render('monitoring.enabled=true', 'monitoring.tlsSecret=a', 'monitoring.tokenSecret=b');
    expect(given.map(({ kind }) => kind)).not.toContain('Secret');
  });

  test('a PodMonitor asks for them as the agents serve them', () => {
    expect(find(objects, 'PodMonitor sluice').spec).toMatchObject({
      selector: { matchLabels: { 'app.kubernetes.io/name': 'sluice' } },
      podMetricsEndpoints: [
        {
          port: 'metrics',
          scheme: 'https',
          interval: '30s',
          tlsConfig: { serverName: 'sluice', ca: { secret: { name: 'sluice-metrics-tls', key: 'tls.crt' } } },
          authorization: { credentials: { name: 'sluice-metrics-token', key: 'token' } },
        },
      ],
    });
    const off = render(
      'monitoring.podMonitor=true',
      'monitoring.rules=true',
      'monitoring.dashboard=true',
    ).map(key);
    expect(off.filter(name => /Monitor|Rule|dashboard|Secret/.test(name))).toEqual([]);
  });

  test('the overlay for kustomize brings the same', () => {
    const folder = join(ROOT, 'daemonset/overlays/monitoring');
    for (const [file, name] of [
      ['podmonitor', 'PodMonitor sluice'],
      ['prometheusrule', 'PrometheusRule sluice'],
      ['dashboard', 'ConfigMap sluice-dashboard'],
    ]) {
      const [overlaid] = documents(readFileSync(join(folder, `${file}.yaml`), 'utf8'));
      const { metadata: _, ...rendered } = find(objects, name!);
      expect({ ...overlaid, metadata: undefined }).toEqual({ ...rendered, metadata: undefined });
    }
    const { patches } = parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8'));
    const added = parse(patches[0].patch).map(({ value }: { value: unknown }) => value);
    expect(added.filter((value: unknown) => typeof value === 'string')).toEqual(
      containers[0].args.filter(word => word.startsWith('--scrape')),
    );
    expect(added).toEqual(expect.arrayContaining(volumes.filter(({ name }) => name.startsWith('metrics'))));
  });
});

describe('an agent that is not root', () => {
  const { containers, volumes } = find(render('nonRoot=true', 'startGate.mode=off'), 'DaemonSet sluice').spec
    .template.spec;

  test('has its capabilities by keepcaps, and no folder of the node', () => {
    expect(containers[0]).toMatchObject({
      command: ['keepcaps', '/usr/local/bin/node', 'dist/cli/main.js'],
      securityContext: {
        runAsUser: 65532,
        runAsNonRoot: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'], add: ['NET_ADMIN', 'NET_RAW'] },
      },
    });
    expect(volumes).toEqual([{ name: 'sockets', emptyDir: {} }]);
    expect(containers[0].volumeMounts).toEqual([{ name: 'sockets', mountPath: '/run/sluice' }]);
  });

  test.each([
    [['nonRoot=true'], 'set startGate.mode=off too'],
    [['nonRoot=true', 'startGate.mode=off', 'podNetwork.mode=attach'], 'leave podNetwork.mode=none'],
  ])('is refused with %s', (sets, sentence) => {
    const { status, stderr } = helm('template', 'sluice', CHART, ...sets.flatMap(set => ['--set', set]));
    expect(status).not.toBe(0);
    expect(stderr).toContain(sentence);
  });
});

const ARGS: readonly (readonly [string, string])[] = [
  ['logFormat=pretty', '--log-format=pretty'],
  ['logLevel=debug', '--log-level=debug'],
  ['liveConnections=keep', '--live-connections=keep'],
  ['metricsPort=9911', '--metrics-address=127.0.0.1:9911'],
  ['startGate.mode=off', '--start-gate=off'],
  ['startGate.timeoutMs=900', '--start-gate-timeout=900'],
  ['unknownPods=allow', '--unknown-pods=allow'],
  ['dns.servers={10.96.0.10,fd00:96::a}', '--dns-servers=10.96.0.10,fd00:96::a'],
  ['dns.targetPorts={5353}', '--dns-target-ports=5353'],
  ['dns.floorSeconds=60', '--dns-floor=60'],
  ['podNetwork.mode=chained', '--pod-network=chained'],
  ['extraArgs[0]=--node=x', '--node=x'],
];

describe('a value becomes the argument that the agent knows', () => {
  const known = execFileSync('node', [join(ROOT, 'src/cli/main.ts'), 'agent', '--help'], {
    encoding: 'utf8',
  });

  test.each(ARGS)('%s -> %s', (set, arg) => {
    expect(agent(set).args).toContain(arg);
    expect(agent().args).not.toContain(arg);
    expect(known).toContain(`${arg.split('=')[0]} `);
  });

  test.each([
    ['image.repository=r/s,image.tag=v2', 'r/s:v2'],
    [`image.repository=r/s,image.digest=sha256:${'0'.repeat(64)}`, `r/s@sha256:${'0'.repeat(64)}`],
  ])('%s is image %s', (set, image) => {
    expect(agent(set).image).toBe(image);
  });

  test('folders of k3s are folders of the node; inside they keep their names', () => {
    const objects = render(
      'podNetwork.mode=attach',
      'podNetwork.cniBinFolder=/var/lib/rancher/k3s/data/cni',
      'podNetwork.cniConfFolder=/var/lib/rancher/k3s/agent/etc/cni/net.d',
      'startGate.nriFolder=/run/k3s/nri',
    );
    const { volumes, containers } = find(objects, 'DaemonSet sluice').spec.template.spec;
    expect(volumes.map(({ hostPath }) => hostPath.path)).toEqual([
      '/run/sluice',
      '/run/k3s/nri',
      '/var/run/netns',
      '/var/lib/rancher/k3s/data/cni',
      '/var/lib/rancher/k3s/agent/etc/cni/net.d',
    ]);
    expect(containers[0].volumeMounts.map(({ name }) => name)).toEqual(volumes.map(({ name }) => name));
  });
});

test('the removal runs before the release goes, by the image of the agent, and may be left out', () => {
  const hooks = render('image.tag=v2').filter(isHook);
  expect(hooks.map(key)).toEqual([
    'ServiceAccount sluice-removal',
    'ConfigMap sluice-removal',
    'Role sluice-removal',
    'RoleBinding sluice-removal',
    'Pod sluice-removal',
  ]);
  for (const { metadata } of hooks)
    expect(metadata.annotations).toHaveProperty(['helm.sh/hook'], 'pre-delete');
  // Helm deletes the hooks before one that fails by hook-succeeded, and that one by hook-failed: the rights go either way,
  // and a pod that failed stays, for its logs.
  for (const hook of hooks) {
    const policy = String(
      (hook.metadata.annotations as Record<string, string>)['helm.sh/hook-delete-policy'],
    );
    const rights = ['before-hook-creation', 'hook-succeeded', 'hook-failed'];
    expect(policy.split(','), key(hook)).toEqual(hook.kind === 'Pod' ? rights.slice(0, 2) : rights);
  }
  const { metadata, spec } = find(hooks, 'Pod sluice-removal') as unknown as RemovalPod;
  expect(
    metadata.labels,
    'not the label by which the DaemonSet of the agents takes pods for its own',
  ).toEqual({
    'app.kubernetes.io/name': 'sluice-removal',
  });
  // Another removal deletes it, and makes its own at once.
  expect(spec).toMatchObject({ restartPolicy: 'Never', terminationGracePeriodSeconds: 1 });
  const [container] = spec.containers;
  expect(container.image).toBe('sluice:v2');
  expect(container.args).toContain('--all-nodes');
  const { data } = find(hooks, 'ConfigMap sluice-removal') as unknown as { data: Record<string, string> };
  expect(parse(data['daemonset.yaml']!)).toEqual(find(render('image.tag=v2'), 'DaemonSet sluice'));
  expect(render('removal.enabled=false').filter(isHook)).toEqual([]);
});

describe('the annotation by which a pod starts before its rules', () => {
  const POLICY = 'ValidatingAdmissionPolicy sluice-start-gate';
  const said = (...sets: string[]) => JSON.stringify(find(render(...sets), POLICY)?.spec ?? 'none');

  test('is for the namespace of the release, kube-system, and those that are named', () => {
    expect(said()).toContain("request.namespace in ['sluice', 'kube-system']");
    expect(said('startGate.exemptNamespaces={calico-system,sluice}')).toContain(
      "request.namespace in ['sluice', 'calico-system']",
    );
    const elsewhere = helm('template', 'sluice', CHART, '--namespace', 'elsewhere').stdout;
    expect(elsewhere).toContain("request.namespace in ['elsewhere', 'kube-system']");
  });

  test('is refused elsewhere by a policy that is bound, and that the agents themselves need', () => {
    const objects = render();
    const { spec } = find(objects, 'ValidatingAdmissionPolicyBinding sluice-start-gate');
    expect(spec).toEqual({ policyName: 'sluice-start-gate', validationActions: ['Deny'] });
    const { template } = find(objects, 'DaemonSet sluice').spec as unknown as {
      template: { metadata: { annotations: object } };
    };
    const [annotation] = Object.keys(template.metadata.annotations);
    expect(said()).toContain(`k == '${annotation}'`);
    expect(said()).toContain(`k.startsWith('${annotation}/')`);
  });

  test("is nobody's concern without a gate, or where that is left out", () => {
    expect(said('startGate.mode=off')).toBe('"none"');
    expect(said('startGate.guardAnnotation=false')).toBe('"none"');
  });
});

describe('the schema refuses, and says where', () => {
  test.each([
    ['startGate.exemptNamespaces={Not-one}', '/startGate/exemptNamespaces/0'],
    ['startGate.mode=on', "/startGate/mode': value must be one of 'auto', 'nri', 'off'"],
    ['podNetwork.mode=bridge', '/podNetwork/mode'],
    ['podNetwok.mode=attach', "additional properties 'podNetwok' not allowed"],
    ['image.digest=sha256:abc', '/image/digest'],
    ['metricsPort=70000', '/metricsPort'],
    ['monitoring.address=everywhere', '/monitoring/address'],
    ['monitoring.interval=often', '/monitoring/interval'],
    ['monitoring.port=0', '/monitoring/port'],
    ['monitoring.tlsSecret=Not A Name', '/monitoring/tlsSecret'],
    ['startGate.nriFolder=run/nri', '/startGate/nriFolder'],
    ['socketFolder=/run/sluice/', '/socketFolder'],
    ['tolerations=all', '/tolerations'],
    ['nodeSelector.edge=true', "/nodeSelector/edge': got boolean, want string"],
    [
      'podLabels.app\\.kubernetes\\.io/name=web',
      "/podLabels/app.kubernetes.io~1name': value must be 'sluice'",
    ],
    ['countRules=maybe', "/countRules': got string, want boolean"],
    ['logLevel=loud', "/logLevel': value must be one of 'debug', 'info', 'warn', 'error'"],
    ['logFormat=xml', "/logFormat': value must be one of 'json', 'pretty'"],
    ['denials.perSecond=-1', "/denials/perSecond': minimum: got -1, want 0"],
    ['denials.log=some', "/denials/log': value must be one of 'none', 'sampled', 'all'"],
    ['monitoring.rules=yes', "/monitoring/rules': got string, want boolean"],
    ['removal.timeoutSeconds=0', "/removal/timeoutSeconds': minimum: got 0, want 1"],
    ['denials=null', "missing property 'denials'"],
    ['startGate.mode=null', "at '/startGate': missing property 'mode'"],
  ])('%s', (set, sentence) => {
    const { status, stderr } = helm('template', 'sluice', CHART, '--set', set);
    expect(status).not.toBe(0);
    expect(stderr).toContain(sentence);
  });

  test('or what is taken away leaves the agent its arguments', () => {
    const { args } = agent();
    for (const path of Object.keys(EACH_VALUE)) {
      const { status, stdout } = helm('template', 'sluice', CHART, '--set', `${path}=null`);
      if (status !== 0) continue;
      const daemonSet = find(documents(stdout), 'DaemonSet sluice');
      expect(daemonSet.spec.template.spec.containers[0].args, path).toEqual(args);
    }
  });

  /** Each would end a line of YAML, or be longer than any object may be. */
  const HOSTILE = {
    '/image/repository': ['x\n        stdin: true', '{{ .Release.Name }}', ' x', 'x'.repeat(256), ''],
    '/imagePullSecrets/0/name': ['x\n', '../x', ''],
    '/priorityClassName': ['x\n      hostPID: true', 'a: b', 'x'.repeat(254)],
    '/seccompProfile': ['x\n      y: z', '../../etc/passwd', '/etc/passwd', 'x'.repeat(254)],
    '/startGate/exemptNamespaces/0': ["a', 'b", 'x\n', '', '{{ 1 }}'],
    '/socketFolder': ['/run\n', '/run/x: y', '/a"b', '/', '/x'.repeat(1024)],
    '/podNetwork/cniBinFolder': ['/opt/{{ 1 }}', 'C:\\cni'],
    '/dns/servers/0': ['10.0.0.1,--node=x', '10.0.0.1\n- --node=x'],
    '/monitoring/address': ['0.0.0.0:1\n', '[::]]'],
    '/monitoring/interval': ['1s\n'],
    '/image/tag': ['latest\n', 'x'.repeat(129)],
    '/extraArgs/0': ['x'.repeat(5000)],
  };
  const flag = (path: string, value: unknown) =>
    `${path
      .slice(1)
      .replaceAll(/\/(\d+)/g, '[$1]')
      .replaceAll('/', '.')}=${JSON.stringify(value)}`;
  const hostile = Object.entries(HOSTILE).flatMap(([path, values]) =>
    values.map(value => [path, value] as const),
  );

  test.each(hostile)('%s: %j', (path, value) => {
    const { status, stderr } = helm('template', 'sluice', CHART, '--set-json', flag(path, value));
    expect(status).not.toBe(0);
    expect(stderr).toContain(`at '${path}'`);
  });

  test('what may be any text stays text: an argument, an annotation, a label', () => {
    const text = '{{ fail "x" }}\n- --node=x: "$(NODE_NAME)" \u001b[2J # \'';
    const sets = ['extraArgs[0]', 'podAnnotations.note', 'podLabels.note'].flatMap(path => [
      '--set-json',
      `${path}=${JSON.stringify(text)}`,
    ]);
    const { status, stdout } = helm('template', 'sluice', CHART, ...sets);
    expect(status).toBe(0);
    const { template } = find(documents(stdout), 'DaemonSet sluice').spec;
    expect(template.spec.containers[0].args.at(-1)).toBe(text);
    expect(template).toMatchObject({ metadata: { labels: { note: text }, annotations: { note: text } } });
  });

  test('every value of values.yaml is in the schema, and the other way round', () => {
    const values = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8'));
    const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8'));
    type Schema = { readonly properties?: Record<string, Schema> };
    const known = ({ properties }: Schema, at = ''): string[] =>
      properties === undefined
        ? [at]
        : Object.entries(properties).flatMap(([name, inner]) => known(inner, `${at}/${name}`));
    const described = new Set(known(schema));
    const isDescribed = (path: string) => [...described].some(prefix => `${path}/`.startsWith(`${prefix}/`));
    expect(leaves(values).filter(path => !isDescribed(path))).toEqual([]);
    const given = leaves(values);
    const left = [...described].filter(path => !given.some(found => `${found}/`.startsWith(`${path}/`)));
    expect(left).toEqual(['/global']);
  });
});

test('actionlint finds nothing wrong in the workflows', () => {
  const folder = join(ROOT, '.github/workflows');
  const files = readdirSync(folder).map(file => join(folder, file));
  expect(files.length).toBeGreaterThan(1);
  const { status, stdout, stderr } = spawnSync(join(BIN, 'actionlint'), ['-no-color', ...files], {
    encoding: 'utf8',
  });
  expect(stdout + stderr).toBe('');
  expect(status).toBe(0);
});

test('actionlint takes the Action as docs/test.md uses it, and knows its inputs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-action-'));
  mkdirSync(join(folder, '.git'));
  mkdirSync(join(folder, '.github/workflows'), { recursive: true });
  cpSync(join(ROOT, 'action.yml'), join(folder, 'action.yml'));
  const lines = readFileSync(join(ROOT, 'docs/test.md'), 'utf8').split('\n');
  const from = lines.findIndex(line => line.includes('permissions: { contents: read'));
  const job = lines.slice(from).filter(line => line.startsWith('    '));
  const lint = (text: string) => {
    const head = 'on: pull_request\njobs:\n  policies:\n    runs-on: ubuntu-latest\n';
    writeFileSync(
      join(folder, '.github/workflows/pr.yaml'),
      head + text.replace('OWNER/sluice@COMMIT', './'),
    );
    return spawnSync(join(BIN, 'actionlint'), ['-no-color'], { cwd: folder, encoding: 'utf8' });
  };
  const right = lint(job.join('\n'));
  const wrong = lint(job.join('\n').replace('tests: tests', 'tset: tests'));
  rmSync(folder, { recursive: true });
  expect([right.stdout, right.status]).toEqual(['', 0]);
  expect(wrong.stdout).toContain('input "tset" is not defined in action "Sluice"');
});

test('who installs it is told what to type next, in its own namespace, and what the chosen values leave open', () => {
  const notes = (...sets: string[]) => {
    const words = sets.flatMap(set => ['--set', set]);
    const { stdout, stderr } = helm('install', 'x', CHART, '-n', 'net', '--dry-run=client', ...words);
    expect(stderr).toBe('');
    return stdout.slice(stdout.indexOf('NOTES:'));
  };
  const usual = notes();
  expect(usual).toContain('kubectl -n net rollout status daemonset/sluice');
  expect(usual).toContain('kubectl sluice status --agents net');
  expect(usual).toContain('port-forward ds/sluice 9910');
  expect(usual).not.toMatch(/podTunnels|startGate/);
  const open = notes('podTunnels=allow', 'startGate.mode=off', 'monitoring.enabled=true');
  expect(open).toMatch(/startGate\.mode is off: .*\n\npodTunnels is allow: /);
  expect(open).toContain('the Secret sluice-metrics-token');
});

test('every place that names the version names the same', () => {
  const { status, stdout } = spawnSync(join(ROOT, 'scripts/release-version'), { encoding: 'utf8' });
  expect(stdout).toBe('');
  expect(status).toBe(0);
});
