import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

/**
 * Where the JavaScript is that is installed, and in `bench` that of the benchmarks: there are figures that only a program
 * gives that need not be compiled first. Both are built anew.
 */
export function builtFolder(): string {
  const build = (command: string, ...args: readonly string[]) =>
    execFileSync(command, args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] });
  build('npm', 'run', '--silent', 'build');
  build('npm', 'exec', '--', 'tsc', '-p', 'bench');
  return join(ROOT, 'dist');
}
