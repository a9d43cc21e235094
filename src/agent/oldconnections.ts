/**
 * Connections of those who had an address, or a port of the node, before. The kernel knows them by addresses alone: what
 * they said goes on, accepted before any rule is asked, to whoever comes next.
 */
import type { Address } from '../model/address.ts';
import type { Flow } from '../model/flow.ts';
import type { Connection, Conntrack } from '../nft/conntrack.ts';
import type { Log } from './agent.ts';

export class OldConnections {
  readonly #conntrack: Conntrack;
  readonly #log: Pick<Log, 'info' | 'warn'>;

  constructor(conntrack: Conntrack, log: Pick<Log, 'info' | 'warn'>) {
    this.#conntrack = conntrack;
    this.#log = log;
  }

  /** Never throws: what could not be forgotten is judged by policy all the same, a little later. */
  async forget(
    about: readonly Address[] | 'all',
    wanted: (flow: Flow) => boolean = () => true,
  ): Promise<void> {
    const whose = about === 'all' ? 'a host port' : about.join(' and ');
    try {
      const found: Connection[] = [];
      await this.#conntrack.read(about, wanted, connection => found.push(connection));
      if (found.length === 0) return;
      const forgotten = await this.#conntrack.delete(found);
      if (forgotten > 0)
        this.#log.info(
          { forgotten },
          `forgot ${forgotten} open ${forgotten === 1 ? 'connection' : 'connections'} of who had ${whose} before`,
        );
    } catch (error) {
      this.#log.warn(
        {},
        `open connections of who had ${whose} before are left to policy: ${(error as Error).message}`,
      );
    }
  }

  close(): void {
    this.#conntrack.close();
  }
}
