/** A CNI plugin run as a runtime runs it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const PLUGIN = fileURLToPath(new URL('../../src/cni/sluice-cni.ts', import.meta.url));

export interface Invocation {
  readonly command: string;
  readonly sandbox?: string;
  readonly netns?: string;
  readonly interface?: string;
  /** `namespace/name`. */
  readonly pod?: string;
  readonly config: object;
}

export interface Outcome {
  readonly code: number | null;
  /** Parsed; undefined where nothing was printed. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever a plugin prints.
  readonly output: any;
}

export async function runCni(invocation: Invocation, program = [process.execPath, PLUGIN]): Promise<Outcome> {
  const [namespace = '', name = ''] = (invocation.pod ?? '').split('/');
  const env = {
    PATH: process.env.PATH,
    CNI_COMMAND: invocation.command,
    CNI_CONTAINERID: invocation.sandbox ?? '',
    CNI_NETNS: invocation.netns ?? '',
    CNI_IFNAME: invocation.interface ?? 'eth0',
    CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=${namespace};K8S_POD_NAME=${name};K8S_POD_UID=1`,
    CNI_PATH: '/opt/cni/bin',
  };
  const child = spawn(program[0]!, program.slice(1), { env, stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(invocation.config));
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return { code: child.exitCode, output: output === '' ? undefined : JSON.parse(output) };
}
