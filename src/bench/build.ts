import { execFileSync } from 'node:child_process';
import { extname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/**
 * Where the JavaScript is that is installed: there are figures that only a program gives that need not be compiled
 * first. A checkout is built anew; what runs from there already is taken as it is.
 */
export function builtFolder(): string {
  if (extname(import.meta.filename) === '.ts')
    execFileSync('npm', ['run', '--silent', 'build'], { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] });
  return join(ROOT, 'dist');
}
