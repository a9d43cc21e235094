/**
 * Access by a kubeconfig, with all that one may hold: contexts, client certificates, exec and OIDC plugins. The
 * official client reads it, in a process of its own that this file is the main module of: loaded into the agent
 * it would take 85 MB for good (measured), more than the agent and 15,000 pods.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
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

/** What the child said, which is one sentence; without one it was ended, and the message says by what. */
function reason({ stderr = '', message }: { stderr?: string; message: string }): string {
  return stderr.trim() || message;
}

if (import.meta.main) await answer(process.argv[2]);

async function answer(file: string | undefined): Promise<void> {
  try {
    process.stdout.write(JSON.stringify(await readKubeconfig(file)));
  } catch (error) {
    process.stderr.write((error as Error).message);
    process.exitCode = 1;
  }
}

async function readKubeconfig(file: string | undefined): Promise<Access> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  if (file === undefined) config.loadFromDefault();
  else config.loadFromFile(file);
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error(`context ${config.getCurrentContext()} names no cluster`);
  await addTokenOfFile(config.getCurrentUser(), file);
  const options: RequestOptions = { headers: {} };
  await config.applyToHTTPSOptions(options);
  return toAccess(cluster.server, cluster.proxyUrl, options);
}

interface NamedUser {
  readonly name: string;
  readonly user?: { readonly tokenFile?: string };
}

/**
 * The client knows no `tokenFile`, and would go to the server as nobody. As in client-go the file comes before a
 * token that stands in the kubeconfig itself, and its path is relative to the kubeconfig.
 */
async function addTokenOfFile(
  user: { readonly name: string } | null,
  file: string | undefined,
): Promise<void> {
  const { parse } = await import('yaml');
  for (const config of file === undefined ? defaultFiles() : [file]) {
    const { users } = (parse(await readFile(config, 'utf8')) ?? {}) as { users?: readonly NamedUser[] };
    const named = users?.find(({ name }) => name === user?.name);
    if (named === undefined) continue;
    const { tokenFile } = named.user ?? {};
    if (tokenFile !== undefined && tokenFile !== '')
      Object.assign(user!, { token: (await readFile(resolve(dirname(config), tokenFile), 'utf8')).trim() });
    return;
  }
}

/** Where kubectl looks; of two users of one name the first counts. */
function defaultFiles(): readonly string[] {
  const named = (process.env.KUBECONFIG ?? '').split(delimiter).filter(Boolean);
  return named.length > 0 ? named : [join(homedir(), '.kube', 'config')];
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
