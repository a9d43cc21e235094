/** A prompt that somebody types `sluice drops` or `sluice flows` at, and packets that it is told of. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { state } from './cluster.ts';

export const MAIN = join(import.meta.dirname, '../../../../src/cli/main.ts');
/** Whom the administrator asks. */
export const ADMIN = ['--kubeconfig', join(state, 'pki/admin.conf')];

interface Told {
  readonly object: {
    readonly kind: string;
    readonly node: string;
    readonly to: { readonly pod?: string };
  } & Record<string, unknown>;
  readonly atMs: number;
}

/** A command that goes on, and prints JSON; what was recorded before it was typed is left out. */
export function typed(words: readonly string[], where: readonly string[] = ADMIN) {
  const child = spawn(process.execPath, [MAIN, ...words, '-o', 'json', ...where], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const typedMs = Date.now();
  const told: Told[] = [];
  const said = { notes: '' };
  let begun = '';
  child.stdout.setEncoding('utf8').on('data', text => {
    const lines = (begun + text).split('\n');
    begun = lines.pop()!;
    for (const line of lines.filter(each => each !== '')) {
      const object = JSON.parse(line);
      if (Date.parse(object.time) >= typedMs) told.push({ object, atMs: Date.now() });
    }
  });
  child.stderr.setEncoding('utf8').on('data', text => {
    said.notes += text;
  });
  const end = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGINT');
    await once(child, 'exit');
  };
  return { told, said, end };
}

/** In a pod's network namespace: sends a datagram, and says when it did. */
export class Sender {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child;
  }

  static async start(pid: number): Promise<Sender> {
    const words = ['-t', `${pid}`, '-n', process.execPath, '-e', SEND];
    const child = spawn('nsenter', words, { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    return new Sender(child);
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  async send(to: string, port: number): Promise<number> {
    this.#child.stdin.write(`${to} ${port}\n`);
    const [text] = await once(this.#child.stdout, 'data');
    return Number(text);
  }
}

const SEND = `const socket = require('node:dgram').createSocket('udp4');
socket.bind(0, () => console.log('ready'));
process.stdin.on('data', text => {
  const [to, port] = String(text).trim().split(' ');
  console.log(Date.now());
  socket.send('x', Number(port), to);
});`;
