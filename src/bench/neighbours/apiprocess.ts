/**
 * A process of its own: the API server, and the hostile tenant that uses it, so that neither takes time of whoever
 * measures. Told what to do by its parent; answers every command with the moment at which it was done.
 */
import { FakeApiServer, type KubeObject } from '../fakeapiserver.ts';
import { ATTACKS, type Attack } from './attacks.ts';
import { population, TENANT } from './population.ts';

export type ApiCommand =
  | { readonly do: 'put'; readonly object: KubeObject }
  | { readonly do: 'delete'; readonly kind: string; readonly name: string }
  | { readonly do: 'attack'; readonly name: string }
  | { readonly do: 'peace' };

/** Of a clock that all processes of the machine share. */
export interface Done {
  readonly atNs: string;
  /** Where the server listens. */
  readonly server: string;
}

const EDIT_MS = 100;
/** Edits whose history is kept. */
const REMEMBERED = 20;

async function main(): Promise<void> {
  const server = new FakeApiServer();
  for (const object of population()) server.put(object);
  await server.start();
  const address = (await server.access()).server;
  const tenant = new Tenant(server);
  process.on('disconnect', () => process.exit());
  process.on('message', (command: ApiCommand) => {
    const atNs = String(process.hrtime.bigint());
    if (command.do === 'put') server.put(command.object);
    else if (command.do === 'delete') server.delete(command.kind, command.name);
    else if (command.do === 'attack') tenant.attack(ATTACKS.find(({ name }) => name === command.name)!);
    else tenant.rest();
    process.send!({ atNs, server: address } satisfies Done);
  });
}

class Tenant {
  readonly #server: FakeApiServer;
  #timer: NodeJS.Timeout | undefined;
  /** By name, those that it has. */
  readonly #policies = new Set<string>();
  #edit = 0;

  constructor(server: FakeApiServer) {
    this.#server = server;
  }

  attack({ policy, besides }: Pick<Attack, 'policy' | 'besides'>): void {
    const edit = () => {
      for (const object of [policy(this.#edit), ...(besides?.(this.#edit) ?? [])]) this.#put(object);
      this.#edit++;
      if (this.#edit % REMEMBERED === 0) this.#server.compact();
    };
    edit();
    this.#timer = setInterval(edit, EDIT_MS);
  }

  rest(): void {
    clearInterval(this.#timer);
    for (const name of this.#policies) this.#server.delete('NetworkPolicy', `${TENANT}/${name}`);
    this.#policies.clear();
  }

  #put(object: KubeObject): void {
    this.#server.put(object);
    if (object.kind === 'NetworkPolicy') this.#policies.add(object.metadata.name);
  }
}

await main();
