#!/usr/bin/env node
/**
 * The command. Its libraries need a current Node; if it was started by an older one, the Node that was installed beside
 * it takes over.
 */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { canRunUs } from './ownnode.ts';

if (canRunUs(process.versions.node)) await import('./main.ts');
else {
  const { launch } = await import('./launch.ts');
  const node = createRequire(import.meta.url).resolve(`node-linux-${process.arch}/bin/node`);
  launch(node, [fileURLToPath(new URL('./main.js', import.meta.url)), ...process.argv.slice(2)]);
}
