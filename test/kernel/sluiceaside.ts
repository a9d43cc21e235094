import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { MAIN } from '../support/agent/sluice.ts';
import type { Netns } from './netns.ts';

/** The command in a namespace, without holding our event loop, which may have to answer it. */
export async function sluiceAside(
  netns: Netns,
  words: readonly string[],
): Promise<{ code: number | null; stdout: string }> {
  const child = netns.run(() => spawn(process.execPath, [MAIN, ...words]));
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', text => {
    stdout += text;
  });
  child.stderr.resume();
  await once(child, 'close');
  return { code: child.exitCode, stdout };
}
