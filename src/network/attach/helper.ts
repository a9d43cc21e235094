/** The helper thread as the agent sees it: promises. */
import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';

export interface HelperRequest {
  readonly id: number;
  readonly verb: 'ready' | 'open' | 'create' | 'remove';
  /** Path of a network namespace: `/run/netns/…`, `/proc/…/ns/net`; empty where it is about none. */
  readonly path: string;
}

export interface HelperAnswer {
  readonly id: number;
  readonly error?: string;
  /** A file that is open on the namespace. */
  readonly namespace?: number;
  /** An rtnetlink socket inside it. Both are the caller's to close. */
  readonly socket?: number;
}

export interface OpenNamespace {
  readonly namespace: number;
  readonly socket: number;
}

export class NamespaceHelper {
  #thread: Worker | undefined;
  #lastId = 0;
  readonly #waiting = new Map<number, (answer: HelperAnswer) => void>();

  /** Starts the thread, if need be: that takes longer than all that a pod waits for. */
  async ready(): Promise<void> {
    await this.#ask('ready', '');
  }

  /** Throws an Error that names the path where there is no network namespace, or where it is the node's own. */
  async open(path: string): Promise<OpenNamespace> {
    const { namespace, socket } = await this.#ask('open', path);
    return { namespace: namespace!, socket: socket! };
  }

  /** Makes a persistent namespace that can be opened at `path`. An existing one is left as it is. */
  async create(path: string): Promise<void> {
    await this.#ask('create', path);
  }

  async remove(path: string): Promise<void> {
    await this.#ask('remove', path);
  }

  async close(): Promise<void> {
    await this.#thread?.terminate();
  }

  async #ask(verb: HelperRequest['verb'], path: string): Promise<HelperAnswer> {
    this.#thread ??= this.#start();
    this.#lastId++;
    const request: HelperRequest = { id: this.#lastId, verb, path };
    const answer = await new Promise<HelperAnswer>(resolve => {
      this.#waiting.set(request.id, resolve);
      this.#thread!.ref();
      this.#thread!.postMessage(request);
    });
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer;
  }

  #start(): Worker {
    const file = join(import.meta.dirname, `helperthread${extname(import.meta.filename)}`);
    // The files that it opens are for us, and stay open when it ends.
    const thread = new Worker(file, { trackUnmanagedFds: false, execArgv: [], stdout: false });
    thread.unref();
    thread.on('message', (answer: HelperAnswer) => {
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
      if (this.#waiting.size === 0) thread.unref();
    });
    thread.on('error', error => this.#lost(error.message));
    thread.on('exit', () => this.#lost('the helper thread ended'));
    return thread;
  }

  #lost(error: string): void {
    this.#thread = undefined;
    for (const [id, resolve] of this.#waiting) resolve({ id, error });
    this.#waiting.clear();
  }
}
