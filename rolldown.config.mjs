// Bundles src/cli/standalone.ts into dist/sluice.mjs: one file without native modules, for Node 20 and newer.
import { readFileSync } from 'node:fs';

const { SLUICE_COMMIT: commit } = process.env;
const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));

/** The agent's gRPC client and its libraries stay outside: only a node has an agent to ask. */
const agentClient = {
  name: 'agent-client',
  resolveId: source =>
    source.endsWith('/rpc/client.ts') ? { id: './api/rpc/client.js', external: true } : undefined,
};

export default {
  input: 'src/cli/standalone.ts',
  platform: 'node',
  plugins: [agentClient],
  transform: {
    target: 'node20',
    define: {
      SLUICE_VERSION: JSON.stringify(version),
      ...(commit && { SLUICE_COMMIT: JSON.stringify(commit) }),
    },
  },
  output: {
    file: 'dist/sluice.mjs',
    format: 'esm',
    minify: true,
    codeSplitting: false,
    banner: '#!/usr/bin/env node', // npm starts it by itself
  },
};
