/** A connection of a pod that stays open, and over which something is said all the time. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { until } from '../until.ts';

/** Data that was retransmitted this often has not been acknowledged. */
const RETRANSMITTED = 3;

export class KeptConnection {
  readonly #namespace: string;
  readonly #to: string;
  readonly #child: ChildProcess;
  #words = 0;
  #received = '';

  /** Connects from a pod, given by the path of its namespace, to port 80 of an address whose server echoes. */
  constructor(namespace: string, to: string) {
    this.#namespace = namespace;
    this.#to = to;
    const file = fileURLToPath(new URL('keeper.ts', import.meta.url));
    this.#child = inNamespace(namespace, () =>
      spawn(process.execPath, [file, to], { stdio: ['pipe', 'pipe', 'inherit'] }),
    );
    this.#child.stdin!.on('error', () => undefined); // the process may have ended
    this.#child.stdout!.on('data', text => (this.#received += text));
  }

  /** Waits until a word that is sent now has come back. */
  async goesOn(): Promise<void> {
    const word = `<${this.#words++}>`;
    this.#child.stdin!.write(word);
    await until(`${word} from ${this.#to}`, () => this.#received.includes(word));
  }

  /** Waits until the kernel has retransmitted data several times without an acknowledgement. */
  async hangs(): Promise<void> {
    const words = ['-Htno', 'state', 'established', 'dst', this.#to];
    await until(`the end of ${this.#to}`, () => {
      const line = inNamespace(this.#namespace, () => execFileSync('ss', words, { encoding: 'utf8' }));
      return Number(/timer:\(on,[^,]*,(\d+)\)/.exec(line)?.[1] ?? 0) >= RETRANSMITTED;
    });
  }

  end(): void {
    this.#child.kill('SIGKILL');
  }
}
