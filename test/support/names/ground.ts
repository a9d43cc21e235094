/** A node with pods that ask a resolver in another pod by a Service, and a host that answers on any address of the zone. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildLab, type Lab } from '../../../bench/lab/lab.ts';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { installServices, type LabService } from '../../../bench/lab/services.ts';
import { address } from '../../../bench/lab/topology.ts';
import { type Address, FAMILIES } from '../../../src/model/address.ts';
import { AgentProcess } from '../agent/agentprocess.ts';
import { until } from '../until.ts';
import { KeptConnection } from './kept.ts';
import type { Way } from './rawsend.ts';
import { repeatedFirstPackets } from './repeated.ts';

export interface ClientOrders {
  readonly resolver: string;
  readonly names: readonly string[];
  readonly type: 'A' | 'AAAA';
  readonly byTcp: boolean;
  /** How often a question is sent. */
  readonly attempts: number;
  /** The source port of questions by UDP; 0: any. */
  readonly port: number;
  /** How long an answer is waited for. */
  readonly answerMs: number;
  /** How long a connection is waited for. */
  readonly patienceMs: number;
  /** How often a name is asked for and connected to, until it can be. */
  readonly rounds: number;
  /** Pause between two names. */
  readonly pauseMs: number;
}

/** A period in which connections to a name failed; times since 1970. */
interface Window {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface ClientReport {
  asked: number;
  /** However often they were sent. */
  unanswered: number;
  /** Questions that were not answered in time. */
  repeated: Window[];
  connected: string[];
  /** Names that failed in all rounds. */
  failed: string[];
  /** Rounds without a connection. */
  misses: Window[];
  /** First packets of connections that had to be sent again. */
  lost: number;
  /** The longest time until an answer. */
  longestMs: number;
}

const NODE = 'n1';
export const NODE_ADDRESS = '172.18.0.11';
/** An emulated machine takes so many times as long (scripts/vm). */
export const SLOW = Number(process.env.SLUICE_SLOW ?? 1);
export const HOSTS = {
  web: [address('10.1.0.10'), address('fd00:1::10')],
  evil: [address('10.1.0.66'), address('fd00:1::66')],
  dns: [address('10.1.0.53'), address('fd00:1::53')],
  target: [address('10.1.0.80'), address('fd00:1::80')],
  /** A pod of another tenant, with the same rules as web. */
  mallory: [address('10.1.0.70'), address('fd00:1::70')],
} as const;
const NAMESPACES = { mallory: 'evil' } as Readonly<Record<string, string>>;
/** The second node, which some grounds have; pods that are not on the first one run there. */
const SECOND_NODE = { name: 'n2', addresses: [address('172.18.0.12'), address('fd00:18::12')] } as const;
const ON_SECOND: readonly string[] = ['dns', 'evil'];
const namespaceOf = (host: string) => NAMESPACES[host] ?? 'shop';
/** The resolver's addresses, as pods use them. */
export const RESOLVER = { ip: address('10.96.0.10'), ip6: address('fd00:96::10') } as const;

export interface NamesGroundOptions {
  /** The port of the resolver's pod; pods dial its Service at 53. Default: 53. */
  readonly port?: number;
  /** With two nodes, the resolver and evil are on the second. Default: one. */
  readonly nodes?: 1 | 2;
}

export class NamesGround {
  readonly folder = mkdtempSync(join(tmpdir(), 'sluice-names-'));
  readonly #children: ChildProcess[] = [];
  readonly #kept: KeptConnection[] = [];
  readonly #port: number;
  readonly #nodes: 1 | 2;
  #floods = 0;
  #resolver!: ChildProcess;
  #lab: Lab | undefined;
  agent: AgentProcess | undefined;
  #second: AgentProcess | undefined;

  constructor({ port = 53, nodes = 1 }: NamesGroundOptions = {}) {
    this.#port = port;
    this.#nodes = nodes;
  }

  get lab(): Lab {
    return this.#lab!;
  }

  async build(): Promise<this> {
    const pods = Object.entries(HOSTS).map(([name, addresses]) => ({
      name: `${namespaceOf(name)}/${name}`,
      node: nodeOf(name, this.#nodes),
      addresses,
    }));
    const first = { name: NODE, addresses: [address(NODE_ADDRESS), address('fd00:18::11')] };
    const nodes = this.#nodes === 1 ? [first] : [first, SECOND_NODE];
    this.#lab = await buildLab({ nodes, pods, outside: [] }, { prefix: `names${process.pid}` });
    this.#route();
    installServices(this.lab, resolverServices(this.#port));
    this.#resolver = await this.start('dns', 'resolver.ts', `${this.#port}`);
    this.#resolver.stdout!.on('data', text => (this.#floods += String(text).match(/flooded/g)?.length ?? 0));
    await this.start('target', 'web.ts');
    return this;
  }

  /** The resolver in the pod answers what it is asked meanwhile behind that. */
  async whileResolverHangs<T>(work: () => Promise<T>): Promise<T> {
    this.#resolver.kill('SIGSTOP');
    try {
      return await work();
    } finally {
      this.#resolver.kill('SIGCONT');
    }
  }

  pathOf(host: keyof typeof HOSTS): string {
    return this.lab.namespaceOf(HOSTS[host][0]);
  }

  /** How a raw packet of a host comes to the node. */
  wayOf(host: keyof typeof HOSTS): Way {
    const node = this.lab.nodeNamespace(nodeOf(host, this.#nodes));
    const text = this.exec(node, 'ip', 'link', 'show', 'dev', this.#linkTo(HOSTS[host][0], node));
    return { namespace: this.pathOf(host), gatewayMac: /link\/ether (\S+)/.exec(text)![1]! };
  }

  get nodePath(): string {
    return this.lab.nodeNamespace(NODE);
  }

  exec(path: string, command: string, ...args: string[]): string {
    return inNamespace(path, () => execFileSync(command, args, { encoding: 'utf8' }));
  }

  /** Starts a program, and waits until it has printed that it is ready. */
  async start(host: keyof typeof HOSTS | 'node', program: string, ...words: string[]): Promise<ChildProcess> {
    const file = fileURLToPath(new URL(program, import.meta.url));
    const path = host === 'node' ? this.nodePath : this.pathOf(host);
    const child = inNamespace(path, () =>
      spawn(process.execPath, [file, ...words], { stdio: ['ignore', 'pipe', 'inherit'] }),
    );
    this.#children.push(child);
    await Promise.race([
      once(child.stdout!, 'data'),
      once(child, 'close').then(() => Promise.reject(new Error(`${program} ended`))),
    ]);
    return child;
  }

  /** The agent of the second node; it ends with the ground. */
  async startSecondAgent(): Promise<AgentProcess> {
    const words = ['--manifests', join(this.folder, 'm')];
    const path = this.lab.nodeNamespace(SECOND_NODE.name);
    this.#second = new AgentProcess(path, SECOND_NODE.name, words);
    await this.#second.inForce();
    return this.#second;
  }

  async startAgent(...options: string[]): Promise<AgentProcess> {
    const servers = ['--dns-servers', Object.values(RESOLVER).join()];
    const socket = ['--socket', join(this.folder, 'sluice.sock')];
    this.agent = new AgentProcess(this.nodePath, NODE, [
      '--manifests',
      join(this.folder, 'm'),
      '--log-level',
      'debug',
      ...socket,
      ...servers,
      ...options,
    ]);
    await this.agent.inForce();
    return this.agent;
  }

  write(name: string, text: string): void {
    execFileSync('mkdir', ['-p', join(this.folder, 'm')]);
    writeFileSync(join(this.folder, 'm', name), text);
  }

  /** The pods, and a policy that lets shop/web go to these names and to the resolver, and nowhere else. */
  writeManifests(...names: string[]): void {
    this.write('cluster.yaml', clusterText(this.#nodes));
    this.write('policy.yaml', policyText(names));
  }

  async visit(
    orders: Partial<ClientOrders> & Pick<ClientOrders, 'names'>,
    host: keyof typeof HOSTS | 'node' = 'web',
  ): Promise<ClientReport> {
    const all: ClientOrders = {
      resolver: RESOLVER.ip,
      type: 'A',
      byTcp: false,
      attempts: 1,
      patienceMs: 700 * SLOW,
      port: 0,
      answerMs: 5_000 * SLOW,
      rounds: 1,
      pauseMs: 0,
      ...orders,
    };
    const file = fileURLToPath(new URL('client.ts', import.meta.url));
    const child = inNamespace(host === 'node' ? this.nodePath : this.pathOf(host), () =>
      spawn(process.execPath, [file, JSON.stringify(all)], { stdio: ['ignore', 'pipe', 'inherit'] }),
    );
    this.#children.push(child);
    let output = '';
    child.stdout!.on('data', data => (output += data));
    await once(child, 'close');
    return JSON.parse(output) as ClientReport;
  }

  /** A connection of shop/web that stays open; it ends with the ground. */
  keep(to: string): KeptConnection {
    const kept = new KeptConnection(this.pathOf('web'), to);
    this.#kept.push(kept);
    return kept;
  }

  async until(holds: () => boolean): Promise<void> {
    await until(() => `what the agent was to do: ${this.agent?.output}`, holds);
  }

  /**
   * Waits until the agent has scanned the connections that were open before it started: twice, and once more if the DNS
   * answers of pods were unknown at first.
   */
  scannedAtStart(): Promise<void> {
    return this.until(() => this.#scans.length >= (this.#scans[0] === 'blind' ? 3 : 2));
  }

  /** Does something that tightens rules, and waits until the agent has scanned open connections twice. */
  async scannedAfter(act: () => Promise<unknown>): Promise<void> {
    const before = this.#scans.length;
    await act();
    await this.until(() => this.#scans.length >= before + 2);
  }

  get #scans(): string[] {
    const lines = this.agent!.output.split('\n').filter(line => line.includes('connections were scanned'));
    return lines.map(line => (line.includes('"blind":true') ? 'blind' : 'knowing'));
  }

  /** Waits until DNS answers wait for the agent. */
  readingAnswers(): Promise<void> {
    // The switch of an agent that was killed stays on for two more seconds; its queue is gone at once.
    const isListening = () =>
      this.exec(this.nodePath, 'sh', '-c', 'cat /proc/net/netfilter/nfnetlink_queue 2>&1 || true')
        .trim()
        .match(/^\d/) !== null;
    return this.until(
      () =>
        isListening() &&
        this.exec(this.nodePath, 'nft', 'list', 'set', 'ip', 'sluice', 'names-alive').includes('elements'),
    );
  }

  /** Until the resolver in the pod has sent the last answer of so many floods that begin now. */
  flooded(count: number): Promise<void> {
    const before = this.#floods;
    return this.until(() => this.#floods >= before + count);
  }

  /** Until the agent has read all answers that have come: one that comes behind them is learnt. */
  async read(name: string): Promise<void> {
    await until(
      'the agent has the answer',
      async () => (await this.visit({ names: [name] })).connected.length > 0,
    );
  }

  /** The line of the node's queue in /proc, in words. */
  queue(): string[] {
    return this.exec(this.nodePath, 'cat', '/proc/net/netfilter/nfnetlink_queue').trim().split(/\s+/);
  }

  /** How many have come to the agent's queue. */
  get answersSeen(): number {
    return Number(this.queue()[7]);
  }

  /** Counts repeated first packets of connections that the host opened. */
  repeatedFirstPackets(host: keyof typeof HOSTS): number {
    return inNamespace(this.pathOf(host), repeatedFirstPackets);
  }

  /** `10.1.0.10 . 10.98.0.7`, of every set of names. */
  elements(): string[] {
    return this.elementsBySet().map(([, element]) => element);
  }

  /** The elements with the names of their sets. */
  elementsBySet(): [set: string, element: string][] {
    const listing = this.exec(this.nodePath, 'nft', 'list', 'ruleset');
    return listing
      .split(/^\tset /m)
      .flatMap(text =>
        [...text.matchAll(/(\S+) \. (\S+) timeout 10m/g)]
          .filter(([, pod]) => pod !== 'daddr')
          .map(([, pod, peer]): [string, string] => [text.slice(0, text.indexOf(' ')), `${pod} . ${peer}`]),
      );
  }

  isLearnt(peer: string): boolean {
    return this.elements().some(element => element.endsWith(` . ${peer}`));
  }

  async remove(): Promise<void> {
    await this.agent?.kill();
    await this.#second?.kill();
    for (const child of this.#children) child.kill('SIGKILL');
    for (const kept of this.#kept) kept.end();
    this.#lab?.remove();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #route(): void {
    const [v4, v6] = HOSTS.target as readonly [Address, Address];
    this.exec(
      this.nodePath,
      'ip',
      'route',
      'add',
      '10.98.0.0/16',
      'via',
      v4,
      'onlink',
      'dev',
      this.#linkTo(v4),
    );
    this.exec(
      this.nodePath,
      'ip',
      '-6',
      'route',
      'add',
      'fd00:98::/64',
      'via',
      v6,
      'onlink',
      'dev',
      this.#linkTo(v6),
    );
    this.exec(this.pathOf('target'), 'ip', 'route', 'add', 'local', '10.98.0.0/16', 'dev', 'lo');
    this.exec(this.pathOf('target'), 'ip', '-6', 'route', 'add', 'local', 'fd00:98::/64', 'dev', 'lo');
  }

  #linkTo(to: Address, node = this.nodePath): string {
    return /dev (\S+)/.exec(this.exec(node, 'ip', 'route', 'get', to))![1]!;
  }
}

function resolverServices(port: number): readonly LabService[] {
  const pairs = FAMILIES.map((family, i) => [RESOLVER[family], HOSTS.dns[i]!] as const);
  return pairs.flatMap(([front, back]) =>
    (['UDP', 'TCP'] as const).map(protocol => ({
      front: { address: front, port: 53 },
      protocol,
      back: { address: back, port },
    })),
  );
}

function nodeOf(host: string, nodes: 1 | 2): string {
  return nodes === 2 && ON_SECOND.includes(host) ? SECOND_NODE.name : NODE;
}

const CLUSTER = `---
apiVersion: v1
kind: Namespace
metadata: { name: shop, labels: { kubernetes.io/metadata.name: shop } }
---
apiVersion: v1
kind: Namespace
metadata: { name: evil, labels: { kubernetes.io/metadata.name: evil } }
---
apiVersion: v1
kind: Node
metadata: { name: ${NODE} }
status: { addresses: [{ type: InternalIP, address: ${NODE_ADDRESS} }, { type: InternalIP, address: 'fd00:18::11' }] }
---
apiVersion: v1
kind: Node
metadata: { name: n2 }
status: { addresses: [{ type: InternalIP, address: 172.18.0.12 }, { type: InternalIP, address: 'fd00:18::12' }] }
`;

/** The pods and nodes of a ground, as manifests. */
export function clusterText(nodes: 1 | 2): string {
  const pods = ['web', 'evil', 'mallory', 'dns'].map(host => podText(host, nodeOf(host, nodes)));
  return pods.join('---\n') + CLUSTER;
}

function podText(name: string, node: string): string {
  const [v4, v6] = HOSTS[name as keyof typeof HOSTS];
  const app = name === 'mallory' ? 'web' : name;
  return `apiVersion: v1
kind: Pod
metadata: { name: ${name}, namespace: ${namespaceOf(name)}, labels: { app: ${app} } }
spec: { nodeName: ${node}, containers: [{ name: c, image: c }] }
status: { phase: Running, podIP: ${v4}, podIPs: [{ ip: ${v4} }, { ip: '${v6}' }] }
`;
}

export function policyText(names: readonly string[]): string {
  const byName =
    names.length === 0
      ? ''
      : `
  - name: by-name
    action: Accept
    to: [{ domainNames: [${names.map(name => `'${name}'`).join()}] }]`;
  return `apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: { name: logs }
spec:
  tier: Admin
  priority: 10
  subject: { pods: { namespaceSelector: {}, podSelector: { matchLabels: { app: web } } } }
  egress:
  - name: dns
    action: Accept
    to: [{ networks: ['${HOSTS.dns[0]}/32', '${HOSTS.dns[1]}/128', '${NODE_ADDRESS}/32', '${HOSTS.evil[0]}/32'] }]${byName}
  - name: nowhere
    action: Deny
    to: [{ networks: ['0.0.0.0/0', '::/0'] }]
`;
}
