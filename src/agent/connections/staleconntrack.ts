/**
 * Flushes connections of pods that had an address, or a port of the node, before. The kernel knows a connection by its
 * addresses alone: its packets are accepted before any rule and would reach the next pod with the address. Finding
 * these entries means walking the whole conntrack table, which takes some milliseconds even if it is empty. So it is
 * done when a pod gives an address up, and not when the next pod waits for it.
 */
import { sleep } from '../../lib/async/sleep.ts';
import type { Address } from '../../model/address.ts';
import type { Flow } from '../../model/flow.ts';
import type { Connection, Conntrack } from '../../nft/conntrack.ts';
import type { Log } from '../log.ts';

type Wanted = (flow: Flow) => boolean;

/** Pods that give their addresses up within this time share one walk through the table. */
const TOGETHER_MS = 20;

export class StaleConntrack {
  readonly #conntrack: Conntrack;
  readonly #isVacant: () => (address: Address) => boolean;
  readonly #log: Pick<Log, 'info' | 'warn'>;
  readonly #leaving = new Map<Address, Promise<void>>();
  /** Addresses for the next round, and the promise of its end. */
  #vacated: Set<Address> | undefined;
  #round: Promise<void> = Promise.resolve();
  readonly #closed = new AbortController();
  readonly #swept = Promise.withResolvers<void>();
  #sweeping: Promise<void> = this.#swept.promise;

  /** `isVacant` is asked at a sweep whether no pod has an address of this node's pods at that moment. */
  constructor(
    conntrack: Conntrack,
    isVacant: () => (address: Address) => boolean,
    log: Pick<Log, 'info' | 'warn'>,
  ) {
    this.#conntrack = conntrack;
    this.#isVacant = isVacant;
    this.#log = log;
  }

  /** No pod has these addresses any more. Never waits. */
  released(addresses: readonly Address[]): void {
    if (addresses.length === 0) return;
    const round = this.#vacated ?? this.#nextRound();
    for (const address of addresses) round.add(address);
    const done = this.#round;
    for (const address of addresses) {
      this.#leaving.set(address, done);
      void done.then(() => {
        if (this.#leaving.get(address) === done) this.#leaving.delete(address);
      });
    }
  }

  #nextRound(): Set<Address> {
    const round = new Set<Address>();
    this.#vacated = round;
    this.#round = sleep(TOGETHER_MS, this.#closed.signal).then(() => {
      this.#vacated = undefined;
      return this.#forget([...round], () => true, [...round].join(', '));
    });
    return round;
  }

  /** Pods may have left without a report. Never waits. */
  sweep(): void {
    const vacant = this.#isVacant();
    const wanted: Wanted = ({ from, to }) => vacant(from) || vacant(to);
    this.#sweeping = this.#forget('all', wanted, 'addresses that no pod has');
    void this.#sweeping.then(() => this.#swept.resolve());
  }

  /** Settles when nothing of theirs is left at these addresses; not before the first sweep. Never rejects. */
  async flushed(addresses: readonly Address[]): Promise<void> {
    await Promise.all([this.#sweeping, ...addresses.map(address => this.#leaving.get(address))]);
  }

  /** Forgets connections that ports of the node now lead to another pod. Never rejects. */
  async redirected(wanted: Wanted): Promise<void> {
    await this.#forget('all', wanted, 'a host port');
  }

  close(): void {
    this.#closed.abort();
    this.#swept.resolve();
    this.#conntrack.close();
  }

  /** If flushing an entry fails, policy still judges the connection, a little later. */
  async #forget(about: readonly Address[] | 'all', wanted: Wanted, whose: string): Promise<void> {
    try {
      const found: Connection[] = [];
      await this.#conntrack.read(about, wanted, connection => found.push(connection));
      if (found.length === 0) return;
      const forgotten = await this.#conntrack.delete(found);
      const count = `${forgotten} open ${forgotten === 1 ? 'connection' : 'connections'}`;
      if (forgotten > 0) this.#log.info({ forgotten }, `forgot ${count} of who had ${whose} before`);
    } catch (error) {
      const { message } = error as Error;
      this.#log.warn({}, `open connections of who had ${whose} before are left to policy: ${message}`);
    }
  }
}
