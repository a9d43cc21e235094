/** Pods by the Container Runtime Interface, as a kubelet asks for them. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { credentials, loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const SOCKET = 'unix:/run/containerd/containerd.sock';
/** Until its first process has sent, and given up. */
const RUN_MS = 400;
/** A kubelet tries again what the plugin refused. */
const RETRY = { everyMs: 200, mostMs: 120_000 };

interface Services {
  readonly runtime: { readonly v1: { readonly RuntimeService: ServiceClientConstructor } };
}

const proto = loadSync(join(import.meta.dirname, 'cri.proto'), { keepCase: true });
const { RuntimeService } = (loadPackageDefinition(proto) as unknown as Services).runtime.v1;
const client = new RuntimeService(SOCKET, credentials.createInsecure());

function call<Answer>(method: string, request: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    client[method]!(request, (error: Error | null, answer: Answer) =>
      error === null ? resolve(answer) : reject(error),
    );
  });
}

/** How a pod started: how long its sandbox took at last, and how often `sluice-cni` had refused it. */
export interface Start {
  readonly tookMs: number;
  readonly refusals: number;
}

/** Runs a pod whose one process connects to an address at once. */
export async function runPod(namespace: string, name: string, image: string, target: string): Promise<Start> {
  const metadata = { name, uid: `uid-${name}`, namespace, attempt: 0 };
  const config = { metadata, log_directory: '/run/logs', linux: {} };
  const { pod_sandbox_id, ...start } = await runSandbox(config);
  const container = {
    metadata: { name: 'sender', attempt: 0 },
    image: { image },
    command: ['/agnhost', 'connect', '--timeout=300ms', target],
    log_path: `${name}.log`,
    linux: {},
  };
  const request = { pod_sandbox_id, config: container, sandbox_config: config };
  const id = await call<object>('CreateContainer', request);
  await call('StartContainer', id);
  await sleep(RUN_MS);
  await call('StopPodSandbox', { id: pod_sandbox_id });
  // The kubelet's order. containerd 2.2 locks itself up where a sandbox goes with its containers while a plugin connects.
  await call('RemoveContainer', id);
  await call('RemovePodSandbox', { id: pod_sandbox_id });
  return start;
}

async function runSandbox(config: object): Promise<Start & { readonly pod_sandbox_id: string }> {
  const deadlineMs = performance.now() + RETRY.mostMs;
  for (let refusals = 0; ; refusals++) {
    const startMs = performance.now();
    try {
      const { pod_sandbox_id } = await call<{ pod_sandbox_id: string }>('RunPodSandbox', { config });
      return { pod_sandbox_id, tookMs: performance.now() - startMs, refusals };
    } catch (error) {
      if (!String(error).includes('plugin type="sluice-cni"') || performance.now() > deadlineMs) throw error;
      await sleep(RETRY.everyMs);
    }
  }
}
