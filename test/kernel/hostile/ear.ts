/** Hears what a network namespace takes in, behind its rules: a raw socket for each family and protocol. */
import { AF_INET, AF_INET6, close, type Fd, receive, SOCK_RAW, socket } from '../../../bench/lab/libc.ts';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { type Address, addressFromBytes, type Family } from '../../../src/model/address.ts';

export interface Heard {
  readonly from: Address;
  /** Behind the IP header and its extensions. */
  readonly payload: Buffer;
}

export class Ear {
  readonly #family: Family;
  readonly #fd: Fd;

  /** `namespace` is a path. */
  constructor(namespace: string, family: Family, protocol: number) {
    this.#family = family;
    const domain = family === 'ip' ? AF_INET : AF_INET6;
    this.#fd = inNamespace(namespace, () => socket(domain, SOCK_RAW, protocol));
  }

  /** All that has come since it was asked last. */
  heard(): Heard[] {
    const all: Heard[] = [];
    for (let next = this.#take(); next !== undefined; next = this.#take()) all.push(next);
    return all;
  }

  close(): void {
    close(this.#fd);
  }

  #take(): Heard | undefined {
    const got = receive(this.#fd);
    if (got === undefined) return undefined;
    const from = Buffer.from(got.from);
    return this.#family === 'ip'
      ? { from: addressFromBytes(from.subarray(4, 8)), payload: got.data.subarray((got.data[0]! & 15) * 4) }
      : { from: addressFromBytes(from.subarray(8, 24)), payload: got.data };
  }
}
