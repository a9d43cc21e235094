/** A counter whose total is counted elsewhere, and read at each scrape. */
import { Counter, type Registry } from 'prom-client';

export function addCounter(
  registry: Registry,
  name: string,
  help: string,
  total: () => number | Promise<number>,
): void {
  new Counter({
    name,
    help,
    registers: [registry],
    async collect() {
      const value = await total();
      this.reset();
      this.inc(value);
    },
  });
}
