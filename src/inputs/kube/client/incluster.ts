import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LoadAccess } from './access.ts';

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
