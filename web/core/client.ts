/** The page's side of the worker: one call is one promise. */
import { source } from 'bundled:worker';
import type { Core } from './protocol.ts';
import type { Request, Response } from './worker.ts';

type Method = keyof Core;

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

/** Where the browser has trusted types, only this policy makes the address of a script, and only that of the worker. */
const trusted = (
  globalThis as {
    trustedTypes?: { createPolicy(name: string, rules: object): { createScriptURL(url: string): string } };
  }
).trustedTypes?.createPolicy('sluice', { createScriptURL: (url: string) => url });

/**
 * The worker starts from a blob: as such it has the page's own security policy, so that nothing leaves the browser from
 * there either, and it starts in a page that was opened from a folder.
 */
function startWorker(): Worker {
  const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
  const worker = new Worker(trusted?.createScriptURL(url) ?? url);
  worker.addEventListener('message', () => URL.revokeObjectURL(url), { once: true });
  return worker;
}

export class CoreClient {
  #worker: Worker | undefined;
  #last = 0;
  #stops = 0;
  readonly #waiting = new Map<number, Waiting>();

  call<M extends Method>(method: M, ...args: Parameters<Core[M]>): Promise<Awaited<ReturnType<Core[M]>>> {
    this.#worker ??= this.#start();
    const id = ++this.#last;
    this.#worker.postMessage([id, method, args] satisfies Request);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  /** Another number than before: there is another worker, or none. */
  get stops(): number {
    return this.#stops;
  }

  /** Ends the worker, and with it all that was asked. The next call starts another one, which knows nothing yet. */
  stop(why: string): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#stops++;
    for (const { reject } of this.#waiting.values()) reject(new Error(why));
    this.#waiting.clear();
  }

  #start(): Worker {
    const worker = startWorker();
    worker.onmessage = ({ data: [id, result, error] }: MessageEvent<Response>) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.resolve(result as never);
      else waiting?.reject(new Error(error));
    };
    worker.onerror = event => {
      event.preventDefault();
      this.stop(`the manifests are more than this browser can read: ${event.message ?? 'out of memory'}`);
    };
    return worker;
  }
}
