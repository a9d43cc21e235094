/** A server in a process of its own, for as long as it is asked. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { builtFolder } from './build.ts';

/** `ask` is given the address that the server's first line says. */
export async function serving<T>(program: string, size: object, ask: (server: string) => T): Promise<T> {
  const path = join(builtFolder(), 'bench/bench', program);
  const child = spawn(process.execPath, [path, JSON.stringify(size)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = await once(createInterface(child.stdout), 'line');
    return ask(line as string);
  } finally {
    child.kill();
    await once(child, 'exit');
  }
}
