/** Pods by the Container Runtime Interface, as a kubelet asks for them. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { credentials, loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const SOCKET = 'unix:/run/containerd/containerd.sock';
/** Until its first process has sent, and given up. */
const RUN_MS = 400;

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

/** Runs a pod whose one process connects to an address at once; answers how many ms its sandbox took. */
export async function runPod(
  namespace: string,
  name: string,
  image: string,
  target: string,
): Promise<number> {
  const metadata = { name, uid: `uid-${name}`, namespace, attempt: 0 };
  const config = { metadata, log_directory: '/run/logs', linux: {} };
  const startMs = performance.now();
  const { pod_sandbox_id } = await call<{ pod_sandbox_id: string }>('RunPodSandbox', { config });
  const tookMs = performance.now() - startMs;
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
  return tookMs;
}
