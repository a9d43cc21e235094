/** What `sluice agent` has in memory for months: nothing that it does not use. */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const SRC = join(import.meta.dirname, '../../src');
/** All that an agent loads that follows an API server, logs JSON and is listened to. */
const PARTS = ['daemon/agent.ts', 'api/rpc/server.ts', 'api/rpc/http.ts', 'api/rpc/metrics.ts'];

const programOf = (parts: readonly string[]) => `
  import { registerHooks } from 'node:module';
  const packages = new Set();
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      const [, name] = /node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(found.url) ?? [];
      if (name !== undefined) packages.add(name);
      return found;
    },
  });
  for (const part of ${JSON.stringify(parts)}) await import(${JSON.stringify(SRC)} + '/' + part);
  const builtins = process.moduleLoadList.filter(name => name.startsWith('NativeModule '));
  console.log(JSON.stringify([...packages, ...builtins.map(name => name.slice(13))]));
`;

function loadedBy(parts: readonly string[]): string[] {
  const args = ['--input-type=module', '--eval', programOf(parts)];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

const UNDICI = 'internal/deps/undici/undici';

test('the agent loads no library that only another command, source or log format needs', () => {
  const loaded = loadedBy(PARTS);
  expect(loaded).toEqual(expect.arrayContaining(['koffi', 'pino', '@grpc/grpc-js', 'prom-client', 'http']));
  const unused = ['yaml', 'chokidar', 'pino-pretty', '@kubernetes/client-node', UNDICI];
  expect(loaded.filter(name => unused.includes(name))).toEqual([]);
});

test('an agent with a kubeconfig does not load undici either', () => {
  const loaded = loadedBy([...PARTS, 'inputs/kube/client/kubeconfig.ts']);
  expect(loaded).toContain('http');
  expect(loaded).not.toContain(UNDICI);
});

test('nothing of the agent asks ICU, which would read megabytes for it', () => {
  const sources = globSync('**/*.ts', { cwd: SRC, exclude: ['**/*.test.ts', 'cli/**'] });
  expect(sources.length).toBeGreaterThan(300);
  const asking = sources.filter(file =>
    /\.(?:toLocale|localeCompare|normalize\()|\bIntl\./.test(readFileSync(join(SRC, file), 'utf8')),
  );
  expect(asking).toEqual([]);
});
