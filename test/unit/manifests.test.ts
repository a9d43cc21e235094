import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { ENTRANCES, SERVICE_RESOURCES, WORKLOADS } from '../../src/inputs/kube/once/askedresources.ts';
import { FOREIGN_KINDS } from '../../src/inputs/kube/once/foreignlists.ts';
import {
  CUSTOM_POLICIES,
  NAMESPACES,
  NETWORK_POLICIES,
  NODES,
  PODS,
} from '../../src/inputs/kube/watch/resource.ts';
import { NEW_SPACE_OPTION } from '../../src/kernel/host/memory.ts';

const daemonset = join(import.meta.dirname, '../../daemonset');
const read = (path: string) => readFileSync(join(daemonset, path), 'utf8');

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

const byKind = (objects: readonly Manifest[]) =>
  [...objects].sort((a, b) => (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : 0));

const base = (parse(read('base/kustomization.yaml')) as { resources: string[] }).resources.flatMap(name =>
  parseAllDocuments(read(`base/${name}`)).map(document => document.toJS() as Manifest),
);
const find = (kind: string) => base.find(object => object.kind === kind) as never;

describe('daemonset/', () => {
  test('install.yaml says what base/ says, object by object', () => {
    const installed = parseAllDocuments(read('install.yaml')).map(document => document.toJS() as Manifest);
    expect(byKind(installed)).toEqual(byKind(base));
    expect(base).toHaveLength(9);
  });

  test('the image is the version of package.json', () => {
    const { version } = JSON.parse(readFileSync(join(daemonset, '../package.json'), 'utf8')) as {
      version: string;
    };
    expect(container().image).toBe(`sluice:${version}`);
  });

  test('the agent has CAP_NET_ADMIN, CAP_NET_RAW for its control packets, and no other power', () => {
    expect(container().securityContext).toEqual({
      runAsUser: 0,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'], add: ['NET_ADMIN', 'NET_RAW'] },
      seccompProfile: { type: 'RuntimeDefault' },
    });
  });

  test('K8: of the node it sees its own folder and the socket of the start gate, and no more', () => {
    const { volumes } = podSpec();
    expect(volumes.map(({ hostPath }) => hostPath.path)).toEqual(['/run/sluice', '/var/run/nri']);
    expect(container().volumeMounts).toEqual([
      { name: 'run', mountPath: '/run/sluice' },
      { name: 'nri', mountPath: '/var/run/nri', readOnly: true },
    ]);
  });

  test('the heap has its part of the memory that the agent may take, and room beside it', () => {
    const { env, resources } = container();
    const options = env.find(({ name }) => name === 'NODE_OPTIONS')?.value ?? '';
    const heap = Number(/--max-old-space-size-percentage=(\d+)/.exec(options)?.[1]) / 100;
    const limit = Number(/^(\d+)Mi$/.exec(resources.limits.memory)?.[1]);
    expect(heap * limit).toBeGreaterThanOrEqual(300);
    expect((1 - heap) * limit).toBeGreaterThanOrEqual(100);
    expect(options).toMatch(new RegExp(`${NEW_SPACE_OPTION}=4$`));
  });

  test('the role reads, and writes nothing but events', () => {
    const { rules } = find('ClusterRole') as { rules: { resources: string[]; verbs: string[] }[] };
    const writes = rules.filter(({ verbs }) => verbs.some(verb => !['get', 'list', 'watch'].includes(verb)));
    expect(writes).toEqual([{ apiGroups: [''], resources: ['events'], verbs: ['create'] }]);
    expect(rules.flatMap(({ resources }) => resources)).not.toContain('secrets');
  });
});

describe('the roles of people who ask', () => {
  /** `apps/deployments`, of each resource that the role lists. */
  const listed = (name: string) => {
    const role = base.find(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === name);
    const { rules } = role as Manifest & {
      readonly rules: readonly { readonly [key in 'apiGroups' | 'resources' | 'verbs']: readonly string[] }[];
    };
    expect(new Set(rules.flatMap(({ verbs }) => verbs))).toEqual(new Set(['list']));
    return rules
      .flatMap(({ apiGroups, resources }) =>
        apiGroups.flatMap(group => resources.map(resource => `${group}/${resource}`)),
      )
      .sort();
  };
  const nameOf = ({ path }: { readonly path: string }) =>
    `${/^\/apis\/([^/]+)/.exec(path)?.[1] ?? ''}/${path.split('/').at(-1)}`;
  const ofCluster = CUSTOM_POLICIES.map(({ plural }) => `policy.networking.k8s.io/${plural}`);

  test('sluice-reader lists what questions read, and nothing else', () => {
    const ofPolicy = [PODS, NAMESPACES, NODES, NETWORK_POLICIES];
    const asked = [...ofPolicy, ...WORKLOADS, ...SERVICE_RESOURCES, ...ENTRANCES];
    const foreign = FOREIGN_KINDS.flatMap(([groups, kinds]) =>
      groups.flatMap(group => Object.values(kinds).map(plural => `${group}/${plural}`)),
    );
    expect(listed('sluice-reader')).toEqual([...asked.map(nameOf), ...ofCluster, ...foreign].sort());
  });

  test('sluice-tenant lists what the cluster has, and nothing of any namespace', () => {
    expect(listed('sluice-tenant')).toEqual([nameOf(NAMESPACES), nameOf(NODES), ...ofCluster].sort());
  });
});

describe('daemonset/overlays/pod-network', () => {
  const overlay = parse(read('overlays/pod-network/kustomization.yaml')) as {
    patches: { target: { kind: string }; patch: string }[];
  };
  const operations = (kind: string) =>
    overlay.patches
      .filter(({ target }) => target.kind === kind)
      .flatMap(({ patch }) => parse(patch) as { op: string; path: string; value: unknown }[]);
  test('may patch the status of Nodes, which says that a node takes no further pods, and writes nothing else', () => {
    expect(operations('ClusterRole')).toEqual([
      {
        op: 'add',
        path: '/rules/-',
        value: { apiGroups: [''], resources: ['nodes/status'], verbs: ['patch'] },
      },
    ]);
  });

  test('binds the agent to its own Node by an admission policy', () => {
    expect(
      (parse(read('overlays/pod-network/kustomization.yaml')) as { resources: string[] }).resources,
    ).toContain('nodestatus.yaml');
    const [policy, binding] = parseAllDocuments(read('overlays/pod-network/nodestatus.yaml')).map(document =>
      document.toJS(),
    );
    expect(policy.spec.failurePolicy).toBe('Fail');
    expect(policy.spec.matchConditions[0].expression).toContain("'system:serviceaccount:sluice:sluice'");
    expect(binding.spec).toEqual({ policyName: policy.metadata.name, validationActions: ['Deny'] });
  });

  const added = (path: string) =>
    operations('DaemonSet').flatMap(op => (op.path.endsWith(path) ? [op.value] : []));

  test('adds SYS_ADMIN, the namespaces of pods and the two folders of CNI, and no more', () => {
    expect(added('/capabilities/add/-')).toEqual(['SYS_ADMIN']);
    expect(added('/volumes/-')).toEqual([
      { name: 'netns', hostPath: { path: '/var/run/netns', type: 'DirectoryOrCreate' } },
      { name: 'cni-bin', hostPath: { path: '/opt/cni/bin', type: 'DirectoryOrCreate' } },
      { name: 'cni-conf', hostPath: { path: '/etc/cni/net.d', type: 'DirectoryOrCreate' } },
    ]);
    expect(added('/args/-')).toEqual([
      '--pod-network=attach',
      '--cni-bin-dir=/opt/cni/bin',
      '--cni-conf-dir=/etc/cni/net.d',
    ]);
    expect(added('/volumeMounts/-')).toHaveLength(3);
    expect(operations('DaemonSet')).toHaveLength(3 + 2 + 6);
  });
});

interface PodSpec {
  readonly containers: readonly {
    readonly image: string;
    readonly env: readonly { readonly name: string; readonly value?: string }[];
    readonly resources: { readonly limits: { readonly memory: string } };
    readonly securityContext: unknown;
    readonly volumeMounts: unknown;
  }[];
  readonly volumes: readonly { readonly hostPath: { readonly path: string } }[];
}

function podSpec(): PodSpec {
  return (find('DaemonSet') as { spec: { template: { spec: PodSpec } } }).spec.template.spec;
}

function container(): PodSpec['containers'][number] {
  return podSpec().containers[0]!;
}
