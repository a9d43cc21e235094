/** The Services that denials are named by, and why they are not where they are not. */
import type { Log } from '../../agent/log.ts';
import type { ServicesFacts } from '../../api/health/agentchecks.ts';
import type { SourceStatus } from '../../inputs/kube/watch/source.ts';
import type { Service, ServiceKey } from '../../model/service.ts';
import { ServiceNames, type ServiceOf } from '../../observe/denials/servicenames.ts';

export class KnownServices {
  readonly #names = new ServiceNames();
  readonly #log: Log;
  #problem: string | undefined = 'they have not been read yet';

  constructor(log: Log) {
    this.#log = log;
  }

  readonly of: ServiceOf = dialled => this.#names.of(dialled);

  get facts(): ServicesFacts {
    const problem = this.#problem ?? (this.#names.isFull ? TOO_MANY : undefined);
    return { known: this.#names.size, ...(problem !== undefined && { problem }) };
  }

  put(service: Service): void {
    this.#names.put(service);
  }

  delete(key: ServiceKey): void {
    this.#names.delete(key);
  }

  keys(): Iterable<ServiceKey> {
    return this.#names.keys();
  }

  onSource({ state, reason }: SourceStatus): void {
    const isKnown = state === 'synced' || state === 'recovered';
    this.#problem = isKnown ? undefined : (reason ?? 'there are none to be read');
    if (state === 'lost')
      this.#log.warn({}, `Services: cannot be read, denials are named by those last known; ${reason}`);
    if (state === 'recovered') this.#log.info({}, 'Services: can be read again');
  }
}

const TOO_MANY = 'there are more of them than are kept';
