/** A CNI plugin run as a runtime runs it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

export interface Invocation {
  readonly command: string;
  readonly sandbox?: string;
  readonly netns?: string;
  readonly interface?: string;
  /** `namespace/name`. */
  readonly pod?: string;
  /** As it is where it is text. */
  readonly config: object | string;
  /** More of the environment; undefined takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface Outcome {
  readonly code: number | null;
  /** Parsed; undefined where nothing was printed. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever a plugin prints.
  readonly output: any;
}

export async function runCni(program: string, invocation: Invocation): Promise<Outcome> {
  const [namespace = '', name = ''] = (invocation.pod ?? '').split('/');
  const env = {
    PATH: process.env.PATH,
    CNI_COMMAND: invocation.command,
    CNI_CONTAINERID: invocation.sandbox ?? '',
    CNI_NETNS: invocation.netns ?? '',
    CNI_IFNAME: invocation.interface ?? 'eth0',
    CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=${namespace};K8S_POD_NAME=${name};K8S_POD_UID=1`,
    CNI_PATH: '/opt/cni/bin',
    ...invocation.env,
  };
  const child = spawn(program, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.on('error', () => {}); // it need not read all
  const { config } = invocation;
  child.stdin.end(typeof config === 'string' ? config : JSON.stringify(config));
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return { code: child.exitCode, output: output === '' ? undefined : JSON.parse(output) };
}
