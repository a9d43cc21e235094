#!/usr/bin/env node
/**
 * The command. Its libraries want a current Node; where the one that started us is older, the one that was
 * installed beside us takes over.
 */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const OLDEST_NODE = 22;

if (Number.parseInt(process.versions.node, 10) >= OLDEST_NODE) await import('./main.ts');
else runWith(createRequire(import.meta.url).resolve('node/bin/node'));

function runWith(node: string): void {
  const main = fileURLToPath(new URL('./main.js', import.meta.url));
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  child.on('error', error => {
    process.stderr.write(`sluice: cannot start ${node}: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === null ? 1 : 128);
  });
}
