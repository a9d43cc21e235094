/** The cluster that scripts/e2e found, from the control plane's network namespace, where its specs run. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** What scripts/e2e says of the cluster. */
export const { bin, state, server, reports, nodes, families, cni, backend, proxy } = environment();

export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command in this network namespace, in the machine's own file system. Never throws for an exit code. */
export async function command(file: string, ...args: string[]): Promise<Output> {
  try {
    return { code: 0, ...(await run(file, args, { maxBuffer: 1 << 26 })) };
  } catch (error) {
    const {
      code,
      stdout = '',
      stderr = '',
    } = error as { code: number | string; stdout: string; stderr: string };
    if (typeof code !== 'number') throw error;
    return { code, stdout, stderr };
  }
}

/** A command in all namespaces of `node1`, `node2`, … or `cp`; throws with what it said where it fails. */
export async function within(place: string, ...args: string[]): Promise<string> {
  const pid = readFileSync(join(state, `${place}.pid`), 'utf8').trim();
  const { code, stdout, stderr } = await command('nsenter', '-t', pid, '-m', '-n', '-p', '-u', '-i', ...args);
  if (code !== 0) throw new Error(`${place}: ${args.join(' ')}: exit code ${code}: ${stderr}${stdout}`);
  return stdout;
}

const SCRIPT = join(import.meta.dirname, '../../../../scripts/cluster');

/** Pulls the plug of a node, and waits until its kubelet is ready again. */
export async function reboot(node: string): Promise<void> {
  const { code, stdout, stderr } = await command(SCRIPT, 'reboot', node);
  if (code !== 0) throw new Error(`reboot of ${node}: ${stderr}${stdout}`);
}

/** Never throws for an exit code. */
export const tryKubectl = (...args: string[]): Promise<Output> =>
  command(join(bin, 'kubectl'), `--kubeconfig=${join(state, 'pki/admin.conf')}`, ...args);

export async function kubectl(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await tryKubectl(...args);
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** The id, as this machine counts, of the process of a pod's only container. */
export function processOf(uid: string): number | undefined {
  const found = readdirSync('/proc').find(name => /^\d+$/.test(name) && isOfPod(uid, name));
  return found === undefined ? undefined : Number(found);
}

function isOfPod(uid: string, pid: string): boolean {
  try {
    // Where systemd makes the cgroups of pods, it writes their ids with _.
    const cgroups = readFileSync(`/proc/${pid}/cgroup`, 'utf8').replaceAll('_', '-');
    return cgroups.includes(`pod${uid}`) && readlinkSync(`/proc/${pid}/exe`) !== '/pause';
  } catch {
    return false; // it has ended
  }
}

export const sleep = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms));

/** Asks until the answer is not undefined; throws `what` after `ms`. */
export async function until<T>(what: string, ask: () => Promise<T | undefined>, ms = 60_000): Promise<T> {
  const deadline = performance.now() + ms;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > deadline) throw new Error(`not within ${ms} ms: ${what}`);
    await sleep(100);
  }
}

function environment() {
  const of = (name: string): string => {
    const value = process.env[`CLUSTER_${name}`];
    if (!value) throw new Error(`no CLUSTER_${name}: run this by scripts/e2e`);
    return value;
  };
  return {
    bin: of('BIN'),
    state: of('STATE'),
    /** `https://172.18.0.1:6443` */
    server: of('SERVER'),
    /** Where logs and evidence go. */
    reports: of('REPORTS'),
    nodes: of('NODES')
      .split(' ')
      .map(n => `node${n}`),
    /** The first one first. */
    families: of('FAMILIES').split(' ') as readonly ('4' | '6')[],
    cni: of('CNI') as 'ptp' | 'bridge' | 'flannel' | 'sluice' | 'kind',
    /** Flannel's; `vxlan` where there is another network. */
    backend: of('BACKEND') as 'vxlan' | 'host-gw' | 'wireguard',
    proxy: of('PROXY') as 'nftables' | 'iptables' | 'none',
  };
}
