/** Access by a kubeconfig, with what one may hold: contexts, certificates, tokens, passwords, exec plugins. */
import { validateHeaderValue } from 'node:http';
import { isText } from '../../../lib/text/istext.ts';
import type { Access, LoadAccess } from './access.ts';
import { credentialsOf, readCredential } from './credentials.ts';
import { type Chosen, readKubeconfig } from './kubeconfigfile.ts';

/** Reads `file`, or where KUBECONFIG and the home folder lead; the context that is named, else the current one. */
export function kubeconfigAccess(file?: string, context?: string): LoadAccess {
  return () => inWords(readKubeconfig(file, context).then(toAccess));
}

/** The namespace that the context names. */
export function kubeconfigNamespace(file?: string, context?: string): Promise<string | undefined> {
  return inWords(readKubeconfig(file, context)).then(({ namespace }) => namespace);
}

async function inWords<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    throw new Error(`the kubeconfig cannot be used: ${(error as Error).message}`);
  }
}

async function toAccess({ context, cluster, user }: Chosen): Promise<Access> {
  const {
    server,
    'tls-server-name': servername,
    'insecure-skip-tls-verify': insecure,
    'proxy-url': proxy,
  } = cluster.value;
  if (!isText(server)) throw new Error(`the cluster of context ${context} has no server`);
  const ca = await readCredential(cluster, 'certificate-authority');
  return usable(context, {
    server: server.replace(/\/+$/, ''),
    ...(ca && { ca }),
    ...(isText(servername) && { servername }),
    ...(insecure === true && { rejectUnauthorized: false }),
    ...(isText(proxy) && { proxy }),
    ...(await credentialsOf(user, cluster)),
  });
}

/** What no request can be made with is said before one is; of a token or a password without its text. */
function usable(context: string, access: Access): Access {
  for (const [field, url] of [
    ['server', access.server],
    ['proxy-url', access.proxy],
  ] as const)
    if (url !== undefined && !isUrlOfHttp(url))
      throw new Error(`the cluster of context ${context} has a ${field} that is no URL of HTTP or HTTPS`);
  for (const value of Object.values(access.headers ?? {}))
    if (!isHeaderValue(value))
      throw new Error(`the user of context ${context} has a token that no header of HTTP can have`);
  return access;
}

function isUrlOfHttp(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function isHeaderValue(value: string): boolean {
  try {
    validateHeaderValue('authorization', value);
    return true;
  } catch {
    return false;
  }
}
