/** Access by a kubeconfig, with all its features: contexts, certificates, tokens, passwords, exec plugins. */

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { isText } from '../../../lib/text/istext.ts';
import type { Access, LoadAccess } from './access.ts';
import { runExecPlugin } from './execplugin.ts';
import { type Chosen, type Entry, type Fields, readKubeconfig } from './kubeconfigfile.ts';

// As in apiserver.ts: `import` would load undici.
const { validateHeaderValue }: typeof import('node:http') = createRequire(import.meta.url)('node:http');

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

/**
 * Reports credentials that no request could use before one is made; of a token or a password it does not show the text.
 */
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

/** The credentials of a kubeconfig's user: certificate, token, password or plugin. */
interface Credentials {
  readonly cert?: string;
  readonly key?: string;
  readonly headers: Readonly<Record<string, string>>;
}

async function credentialsOf(user: Entry | undefined, cluster: Entry): Promise<Credentials> {
  if (user === undefined) return { headers: {} };
  const cert = await readCredential(user, 'client-certificate');
  const key = await readCredential(user, 'client-key');
  const own = { ...(cert && { cert }), ...(key && { key }) };
  const { exec } = user.value;
  const headers = await headersOf(user);
  if (exec === undefined || exec === null || Object.keys(headers).length > 0) return { ...own, headers };
  const { token, ...pair } = await runExecPlugin({ ...user, value: exec as Fields }, cluster);
  return { ...own, ...pair, headers: token === undefined ? {} : bearer(token) };
}

/** As in client-go, a token file takes precedence over a token in the kubeconfig itself. */
async function headersOf({ value, folder }: Entry): Promise<Readonly<Record<string, string>>> {
  const { tokenFile, token, username, password } = value;
  if (isText(tokenFile)) return bearer((await readFile(resolve(folder, tokenFile), 'utf8')).trim());
  if (isText(token)) return bearer(token);
  if (isText(username)) return { Authorization: `Basic ${base64(`${username}:${password ?? ''}`)}` };
  return providedHeaders(value['auth-provider'] as Fields | undefined);
}

/**
 * The auth providers that kubectl once had built in: for OIDC, the token in the kubeconfig is used and never renewed.
 */
function providedHeaders(provider: Fields | undefined): Readonly<Record<string, string>> {
  if (provider === undefined || provider === null) return {};
  const token = (provider.config as Fields | undefined)?.['id-token'];
  if (provider.name === 'oidc' && isText(token)) return bearer(token);
  throw new Error(
    `its user has the auth-provider ${provider.name}, which kubectl gave up too: it needs an exec plugin`,
  );
}

function bearer(token: string): Readonly<Record<string, string>> {
  return { Authorization: `Bearer ${token}` };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** A credential in the kubeconfig itself (`…-data`, in base64), or in the file that it names. */
async function readCredential({ value, folder }: Entry, field: string): Promise<string | undefined> {
  const data = value[`${field}-data`];
  if (isText(data)) return Buffer.from(data, 'base64').toString();
  const file = value[field];
  return isText(file) ? readFile(resolve(folder, file), 'utf8') : undefined;
}
