/** Credential plugins: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { isText } from '../../../lib/text/istext.ts';
import { jsonOf } from '../../../lib/text/jsonof.ts';
import { asMap, asMaps } from '../report/identity.ts';
import type { Entry, Fields } from './kubeconfigfile.ts';

export interface PluginCredentials {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
}

/**
 * Runs the program of the user's `exec` entry, and reads the ExecCredential that it prints. Throws an Error of one
 * sentence.
 */
export async function runExecPlugin(plugin: Entry, cluster: Entry): Promise<PluginCredentials> {
  const { command, args, env } = plugin.value;
  if (!isText(command)) throw new Error('its user has an exec plugin without a command');
  const list = Array.isArray(args) ? args.map(String) : [];
  const variables = { ...process.env, ...ownVariables(env), KUBERNETES_EXEC_INFO: infoFor(plugin, cluster) };
  const { stdout } = await promisify(execFile)(pathOf(command, plugin.folder), list, {
    env: variables,
  }).catch(error => {
    throw new Error(`its plugin ${command} failed: ${whyFailed(error, plugin.value)}`);
  });
  return credentialsIn(stdout, command);
}

/** A name is looked for in PATH; a path is relative to the kubeconfig. */
function pathOf(command: string, folder: string): string {
  return command.includes('/') ? resolve(folder, command) : command;
}

function ownVariables(env: unknown): Record<string, string> {
  return Object.fromEntries(asMaps(env).map(({ name, value }) => [String(name), String(value ?? '')]));
}

function infoFor({ value: { apiVersion, provideClusterInfo } }: Entry, { value }: Entry): string {
  const { server, 'certificate-authority-data': ca, 'insecure-skip-tls-verify': insecure } = value;
  const cluster = { server, 'certificate-authority-data': ca, 'insecure-skip-tls-verify': insecure };
  const spec = { interactive: false, ...(provideClusterInfo === true && { cluster }) };
  return JSON.stringify({ apiVersion, kind: 'ExecCredential', spec });
}

function whyFailed(error: NodeJS.ErrnoException & { stderr?: string }, { installHint }: Fields): string {
  if (error.code === 'ENOENT')
    return `it is not installed${isText(installHint) ? ` (${installHint.split('\n')[0]})` : ''}`;
  return error.stderr?.trim().split('\n')[0] || error.message;
}

function credentialsIn(stdout: string, command: string): PluginCredentials {
  const { token, clientCertificateData: cert, clientKeyData: key } = asMap(asMap(jsonOf(stdout)).status);
  const found = { ...(isText(token) && { token }), ...(isText(cert) && isText(key) && { cert, key }) };
  if (Object.keys(found).length > 0) return found;
  throw new Error(`its plugin ${command} printed no credential`);
}
