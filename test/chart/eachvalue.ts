/** Every value of the chart, each set to something else than its default: rendered here, and applied on a cluster. */
export const EACH_VALUE: Readonly<Record<string, unknown>> = {
  'image.repository': 'registry.example/sluice',
  'image.tag': 'v9.9.9',
  'image.digest': `sha256:${'a'.repeat(64)}`,
  'image.pullPolicy': 'Always',
  imagePullSecrets: [{ name: 'registry' }],
  logFormat: 'pretty',
  logLevel: 'debug',
  liveConnections: 'keep',
  'denials.perSecond': 0,
  'denials.log': 'all',
  podTunnels: 'allow',
  countRules: true,
  metricsPort: 9911,
  'monitoring.enabled': true,
  'monitoring.address': '[::]',
  'monitoring.port': 9443,
  'monitoring.tlsSecret': 'our-certificate',
  'monitoring.tokenSecret': 'our-token',
  'monitoring.podMonitor': true,
  'monitoring.rules': true,
  'monitoring.dashboard': true,
  'monitoring.interval': '15s',
  'monitoring.labels': { release: 'prometheus' },
  socketFolder: '/run/elsewhere',
  'startGate.mode': 'nri',
  'startGate.nriFolder': '/run/k3s/nri',
  'startGate.timeoutMs': 900,
  'startGate.guardAnnotation': false,
  'startGate.exemptNamespaces': ['kube-system', 'calico-system'],
  unknownPods: 'allow',
  'dns.servers': ['169.254.20.10', 'fd00:96::a'],
  'dns.targetPorts': [5353],
  'dns.floorSeconds': 60,
  'podNetwork.mode': 'attach',
  'podNetwork.cniBinFolder': '/var/lib/rancher/k3s/data/cni',
  'podNetwork.cniConfFolder': '/var/lib/rancher/k3s/agent/etc/cni/net.d',
  'podNetwork.netnsFolder': '/run/netns',
  nonRoot: true,
  resources: { requests: { cpu: '100m' }, limits: { memory: '1Gi' } },
  seccompProfile: 'sluice.json',
  priorityClassName: 'system-cluster-critical',
  nodeSelector: { 'kubernetes.io/arch': 'arm64' },
  tolerations: [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'edge', operator: 'DoesNotExist' }] }],
      },
    },
  },
  'updateStrategy.type': 'OnDelete',
  'updateStrategy.rollingUpdate': null,
  podAnnotations: { team: 'network' },
  podLabels: { team: 'network' },
  extraArgs: ['--start-gate-timeout=800'],
  'removal.enabled': false,
  'removal.timeoutSeconds': 30,
};

/** What a value means nothing without. */
const NEEDED: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  monitoring: {
    'monitoring.enabled': true,
    'monitoring.podMonitor': true,
    'monitoring.rules': true,
    'monitoring.dashboard': true,
  },
  nonRoot: { 'startGate.mode': 'off' },
  podNetwork: { 'podNetwork.mode': 'attach' },
  updateStrategy: { 'updateStrategy.type': 'OnDelete', 'updateStrategy.rollingUpdate': null },
};

/** What `helm template` is told for one of them: as JSON, for lists and objects too. */
export function valueFlags(path: string): string[] {
  const given = { ...NEEDED[path.split('.')[0]!], [path]: EACH_VALUE[path] };
  return Object.entries(given).flatMap(([name, value]) => ['--set-json', `${name}=${JSON.stringify(value)}`]);
}
