/**
 * A process of its own: the API server, and the hostile tenant that uses it, so that neither takes CPU time of the
 * measuring process. Its parent sends commands; it answers each with the time at which it was done.
 */
import { FakeApiServer, type KubeObject } from '../fakeapiserver.ts';
import { ATTACKS, type Attack } from './attacks.ts';
import { population, TENANT } from './population.ts';

export type ApiCommand =
  | { readonly do: 'put'; readonly object: KubeObject }
  | { readonly do: 'delete'; readonly kind: string; readonly name: string }
  /** An attack goes on with the edit after its last; the first edit is made alone, and those after it wait. */
  | { readonly do: 'attack' | 'first edit'; readonly name: string }
  | { readonly do: 'peace' };

/** `atNs` is read from a clock that all processes of the machine share. */
export interface Done {
  readonly atNs: string;
  /** The address at which the server listens. */
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
    else if (command.do === 'attack') tenant.attack(attackOf(command));
    else if (command.do === 'first edit') tenant.editFirst(attackOf(command));
    else tenant.rest();
    process.send!({ atNs, server: address } satisfies Done);
  });
}

function attackOf({ name }: { readonly name: string }): Attack {
  return ATTACKS.find(attack => attack.name === name)!;
}

class Tenant {
  readonly #server: FakeApiServer;
  #timer: NodeJS.Timeout | undefined;
  /** The names of the tenant's policies. */
  readonly #policies = new Set<string>();
  #edit = 0;

  constructor(server: FakeApiServer) {
    this.#server = server;
  }

  attack(attack: Attack): void {
    this.#editOnce(attack);
    this.#timer = setInterval(() => this.#editOnce(attack), EDIT_MS);
  }

  editFirst(attack: Attack): void {
    clearInterval(this.#timer);
    this.#edit = 0;
    this.#editOnce(attack);
  }

  #editOnce({ policy, besides }: Attack): void {
    for (const object of [policy(this.#edit), ...(besides?.(this.#edit) ?? [])]) this.#put(object);
    this.#edit++;
    if (this.#edit % REMEMBERED === 0) this.#server.compact();
  }

  rest(): void {
    clearInterval(this.#timer);
    for (const name of this.#policies) this.#server.delete('NetworkPolicy', `${TENANT}/${name}`);
    this.#policies.clear();
    this.#edit = 0;
  }

  #put(object: KubeObject): void {
    this.#server.put(object);
    if (object.kind === 'NetworkPolicy') this.#policies.add(object.metadata.name);
  }
}

await main();
