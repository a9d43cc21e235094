/** npm, where the commands of a Dockerfile call it. */

/**
 * Of the environment of every command: npm's own patience is three minutes for each round of packages, also where it has
 * all that it needs in its cache and nobody answers. Such a build seems to hang.
 */
export const PATIENCE: Readonly<Record<string, string>> = {
  npm_config_fetch_retries: '1',
  npm_config_fetch_retry_mintimeout: '1000',
  npm_config_fetch_timeout: '60000',
};

/** What may be wrong where this command has failed, as one line; undefined where it is no npm that asks a registry. */
export function whyFailed(command: string, env: NodeJS.ProcessEnv): string | undefined {
  if (!/\bnpm ci\b/.test(command)) return undefined;
  const { NODE_EXTRA_CA_CERTS: authorities } = env;
  const certificate =
    authorities === undefined
      ? 'NODE_EXTRA_CA_CERTS is not set: it names the authority where the certificate of the registry is not of a public one'
      : `NODE_EXTRA_CA_CERTS is ${authorities}`;
  return `npm did not install what package-lock.json names. It asks the registry of this machine's npmrc; ${certificate}`;
}
