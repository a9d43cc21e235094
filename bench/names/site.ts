/** A node with an agent, pods that ask a resolver in another pod by its Service, and a host behind every name. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Address } from '../../src/model/address.ts';
import { undoAtExit } from '../lab/cleanup.ts';
import { buildLab, type Lab } from '../lab/lab.ts';
import { inNamespace } from '../lab/netns.ts';
import { installServices } from '../lab/services.ts';
import { BenchAgent } from '../neighbours/agentprocess.ts';
import {
  FREE,
  NAMED,
  NAMES_NODE,
  NAMES_NODE_ADDRESSES,
  namesManifests,
  RESOLVER,
  SERVICE,
  WEB,
  ZONE,
} from './manifests.ts';

const HOSTS = {
  named: NAMED.flat(),
  free: FREE,
  dns: [RESOLVER],
  web: WEB,
} as const satisfies Record<string, readonly Address[]>;
export type HostName = keyof typeof HOSTS;

const PATIENCE_MS = 20_000;

export class NamesSite {
  readonly lab: Lab;
  readonly #folder: string;
  readonly #children: ChildProcess[] = [];
  readonly #forget = undoAtExit(() => this.#clean());
  #agent: BenchAgent | undefined;

  private constructor(lab: Lab) {
    this.lab = lab;
    this.#folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  }

  static async open(dist: string): Promise<NamesSite> {
    const pods = Object.entries(HOSTS).map(([name, addresses]) => ({ name, node: NAMES_NODE, addresses }));
    const nodes = [{ name: NAMES_NODE, addresses: NAMES_NODE_ADDRESSES }];
    const site = new NamesSite(await buildLab({ nodes, pods, outside: [] }));
    try {
      await site.#prepare(dist);
      return site;
    } catch (error) {
      await site.close();
      throw error;
    }
  }

  get agent(): BenchAgent {
    return this.#agent!;
  }

  get nodePath(): string {
    return this.lab.nodeNamespace(NAMES_NODE);
  }

  /** The output of a role of names.c. */
  async tell(host: HostName, ...args: readonly string[]): Promise<string> {
    const child = this.#spawn(host, args);
    let output = '';
    child.stdout!.setEncoding('utf8').on('data', text => {
      output += text;
    });
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`names ${args[0]}: exit code ${code}`);
    return output;
  }

  inNode<T>(work: () => T): T {
    return inNamespace(this.nodePath, work);
  }

  /** How many packets the queue has taken since it was bound. */
  queued(): number {
    const [, , , , , , , last] = this.#queueLine().split(/\s+/);
    return Number(last);
  }

  async close(): Promise<void> {
    await this.#agent?.end();
    this.#clean();
    this.#forget();
  }

  async #prepare(dist: string): Promise<void> {
    this.#route();
    installServices(this.lab, [
      { front: { address: SERVICE, port: 53 }, protocol: 'UDP', back: { address: RESOLVER, port: 53 } },
    ]);
    execFileSync('cc', ['-O2', '-o', this.#program, join(import.meta.dirname, '../names.c')]);
    await this.#start('dns', 'resolver');
    await this.#start('web', 'web');
    mkdirSync(join(this.#folder, 'm'));
    writeFileSync(join(this.#folder, 'm', 'cluster.yaml'), namesManifests());
    const options = ['--node', NAMES_NODE, '--manifests', join(this.#folder, 'm'), '--dns-servers', SERVICE];
    this.#agent = new BenchAgent(dist, { run: work => this.inNode(work) }, options);
    await this.#agent.programmed();
    await this.#readingAnswers();
  }

  /** Waits until the queue has a listener, and a heartbeat or two more. */
  async #readingAnswers(): Promise<void> {
    for (const deadline = Date.now() + PATIENCE_MS; this.#queueLine() === ''; await setTimeout(20))
      if (Date.now() > deadline) throw new Error(`DNS answers are not read: ${this.agent.output}`);
    await setTimeout(1_000);
  }

  #queueLine(): string {
    return this.inNode(() => readFileSync('/proc/thread-self/net/netfilter/nfnetlink_queue', 'utf8')).trim();
  }

  get #program(): string {
    return join(this.#folder, 'names');
  }

  #spawn(host: HostName, args: readonly string[]): ChildProcess {
    const path = this.lab.namespaceOf(HOSTS[host][0]!);
    const child = inNamespace(path, () =>
      spawn(this.#program, args, { stdio: ['ignore', 'pipe', 'inherit'] }),
    );
    this.#children.push(child);
    return child;
  }

  /** Starts a role, and waits until it has printed that it is ready. */
  async #start(host: HostName, role: string): Promise<void> {
    const child = this.#spawn(host, [role]);
    const ended = once(child, 'close').then(() => Promise.reject(new Error(`names ${role} ended`)));
    ended.catch(() => {});
    await Promise.race([once(child.stdout!, 'data'), ended]);
  }

  #route(): void {
    const ip = (...args: string[]) => execFileSync('ip', args, { encoding: 'utf8' });
    const [v4, v6] = WEB as [Address, Address];
    this.inNode(() => {
      const [, device] = /dev (\S+)/.exec(ip('route', 'get', v4))!;
      ip('route', 'add', ZONE.ip, 'via', v4, 'onlink', 'dev', device!);
      ip('-6', 'route', 'add', ZONE.ip6, 'via', v6, 'onlink', 'dev', device!);
    });
    inNamespace(this.lab.namespaceOf(v4), () => {
      ip('route', 'add', 'local', ZONE.ip, 'dev', 'lo');
      ip('-6', 'route', 'add', 'local', ZONE.ip6, 'dev', 'lo');
    });
  }

  #clean(): void {
    for (const child of this.#children) child.kill('SIGKILL');
    this.lab.remove();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
