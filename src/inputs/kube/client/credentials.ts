/** As whom a kubeconfig's user goes to the API server: by certificate, token, password or plugin. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isText } from '../../../lib/text/istext.ts';
import { runExecPlugin } from './execplugin.ts';
import type { Entry, Fields } from './kubeconfigfile.ts';

export interface Credentials {
  readonly cert?: string;
  readonly key?: string;
  readonly headers: Readonly<Record<string, string>>;
}

export async function credentialsOf(user: Entry | undefined, cluster: Entry): Promise<Credentials> {
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

/** As in client-go a file comes before a token that stands in the kubeconfig itself. */
async function headersOf({ value, folder }: Entry): Promise<Readonly<Record<string, string>>> {
  const { tokenFile, token, username, password } = value;
  if (isText(tokenFile)) return bearer((await readFile(resolve(folder, tokenFile), 'utf8')).trim());
  if (isText(token)) return bearer(token);
  if (isText(username)) return { Authorization: `Basic ${base64(`${username}:${password ?? ''}`)}` };
  return providedHeaders(value['auth-provider'] as Fields | undefined);
}

/** What kubectl built in once: of OIDC's the token that is there counts, and nothing renews it. */
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

/** A field that stands there itself (`…-data`, in base64), or the file that it names. */
export async function readCredential({ value, folder }: Entry, field: string): Promise<string | undefined> {
  const data = value[`${field}-data`];
  if (isText(data)) return Buffer.from(data, 'base64').toString();
  const file = value[field];
  return isText(file) ? readFile(resolve(folder, file), 'utf8') : undefined;
}
