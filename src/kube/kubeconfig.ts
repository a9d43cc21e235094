/**
 * Access by a kubeconfig, with all that one may hold: contexts, client certificates, exec and OIDC plugins. The
 * official client reads it, in a process of its own that this file is the main module of: loaded into the agent
 * it would take 85 MB for good (measured), more than the agent and 15,000 pods.
 */
import { execFile } from 'node:child_process';
import type { RequestOptions } from 'node:https';
import { promisify } from 'node:util';
import type { Access, LoadAccess } from './access.ts';

/** Reads `file`, or where KUBECONFIG and the home folder lead. */
export function kubeconfigAccess(file?: string): LoadAccess {
  return async () => {
    const args = [import.meta.filename, ...(file === undefined ? [] : [file])];
    const { stdout } = await promisify(execFile)(process.execPath, args).catch(error => {
      throw new Error(`the kubeconfig cannot be used: ${reason(error)}`);
    });
    return JSON.parse(stdout) as Access;
  };
}

/** The last line of what the child said, without its stack. */
function reason({ stderr = '', message }: { stderr?: string; message: string }): string {
  return /^\w*Error: (.*)$/m.exec(stderr)?.[1] ?? message;
}

if (import.meta.main) process.stdout.write(JSON.stringify(await readKubeconfig(process.argv[2])));

async function readKubeconfig(file: string | undefined): Promise<Access> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  if (file === undefined) config.loadFromDefault();
  else config.loadFromFile(file);
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error(`context ${config.getCurrentContext()} names no cluster`);
  const options: RequestOptions = { headers: {} };
  await config.applyToHTTPSOptions(options);
  return toAccess(cluster.server, cluster.proxyUrl, options);
}

function toAccess(server: string, proxy: string | undefined, options: RequestOptions): Access {
  const { ca, cert, key, servername, rejectUnauthorized, auth, headers } = options;
  const basic = auth && `Basic ${Buffer.from(auth).toString('base64')}`;
  return {
    server: server.replace(/\/+$/, ''),
    ...(ca && { ca: String(ca) }),
    ...(cert && { cert: String(cert) }),
    ...(key && { key: String(key) }),
    ...(servername && { servername }),
    ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
    ...(proxy && { proxy }),
    headers: { ...(headers as Record<string, string>), ...(basic && { authorization: basic }) },
  };
}
