import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LoadAccess } from './access.ts';
import { kubeconfigAccess } from './kubeconfig.ts';

/**
 * The access to the cluster, by the named file, by KUBECONFIG, by the pod in which we run, or by the kubeconfig of the
 * home folder. Undefined if none of them exists; nothing is read yet.
 */
export async function findAccess(
  kubeconfig: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<LoadAccess | undefined> {
  if (kubeconfig !== undefined) return kubeconfigAccess(kubeconfig);
  if (env.KUBECONFIG) return kubeconfigAccess();
  return inClusterAccess(env) ?? (await homeAccess(env.HOME));
}

async function homeAccess(home: string | undefined): Promise<LoadAccess | undefined> {
  const file = home && join(home, '.kube', 'config');
  const isThere =
    file &&
    (await access(file).then(
      () => true,
      () => false,
    ));
  return isThere ? kubeconfigAccess(file) : undefined;
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The access that every pod is given; undefined outside of a pod. */
export function inClusterAccess(env: NodeJS.ProcessEnv, folder = SERVICE_ACCOUNT): LoadAccess | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env;
  if (!host) return undefined;
  const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return async () => {
    const [ca, token] = await Promise.all(
      ['ca.crt', 'token'].map(file => readFile(join(folder, file), 'utf8')),
    );
    return { server, ca: ca!, headers: { authorization: `Bearer ${token!.trim()}` } };
  };
}
