/**
 * Attaches pod after pod to the namespaces that it is told, and detaches them again, at random until it is killed: as
 * an agent would, in the network namespace that it is started in. Says on a line what it begins, and what was answered.
 *
 *     attacher-process.ts CIDRS SERIAL NAMESPACE[=SANDBOX]…
 *
 * SANDBOX is who was last attached there, or may have been. New ones are numbered from SERIAL.
 */
import { parseCidr } from '../../src/model/address.ts';
import { NamespaceHelper } from '../../src/network/helper.ts';
import { HostPorts } from '../../src/network/hostports.ts';
import { NodeLinks } from '../../src/network/nodelinks.ts';
import { PodNetwork } from '../../src/network/podnetwork.ts';
import { PodTableSocket } from '../../src/network/podtablesocket.ts';

const [cidrs = '', firstSerial = '', ...places] = process.argv.slice(2);
const podCidrs = cidrs.split(',');
const node = { name: 'n', labels: {}, addresses: [], podCidrs };
const links = new NodeLinks();
const network = new PodNetwork({
  node: 'n',
  links,
  helper: new NamespaceHelper(),
  ports: new HostPorts(new PodTableSocket(), () => links.given()),
  admission: { admit: async () => {}, adopt: () => {}, withdraw: () => {} },
  cluster: () => ({
    nodes: new Map([['n', node]]),
    pods: new Map(),
    namespaces: new Map(),
    policies: new Map(),
  }),
  livingPods: () => undefined,
  log: { info: () => {}, warn: (_, text) => console.error(text) },
});
if (podCidrs.some(text => parseCidr(text) === undefined)) throw new Error(`no networks: ${cidrs}`);
const AGAIN = 0.2;
const WORKERS = 8;
let serial = Number(firstSerial);
/** Who is in which namespace. */
const occupants = new Map<string, string | undefined>();
for (const place of places) {
  const [namespace = '', sandbox] = place.split('=');
  occupants.set(namespace, sandbox);
}
const all = [...occupants.keys()];
await network.start();
await Promise.all(Array.from({ length: WORKERS }, (_, worker) => churn(worker)));

/** Each worker has namespaces of its own, so that an answer is not overtaken by another's. */
async function churn(worker: number): Promise<never> {
  const mine = all.filter((_, index) => index % WORKERS === worker);
  for (;;) {
    const namespace = mine[Math.floor(Math.random() * mine.length)]!;
    const occupant = occupants.get(namespace);
    if (occupant === undefined) await attach(namespace, `box${serial++}`);
    else if (Math.random() < AGAIN) await attach(namespace, occupant);
    else await detach(namespace, occupant);
  }
}

async function attach(namespace: string, sandbox: string): Promise<void> {
  console.log(`begin ${namespace} ${sandbox}`);
  occupants.set(namespace, sandbox);
  const port = 1000 + all.indexOf(namespace);
  const hostPorts = port % 5 === 0 ? [{ protocol: 'TCP', hostPort: port, podPort: 80 } as const] : [];
  const request = { sandbox, interface: 'eth0', pod: `shop/${sandbox}`, namespace, hostPorts } as const;
  const { addresses } = await network.attach(request);
  console.log(`attach ${namespace} ${sandbox} ${addresses.join(',')}`);
}

async function detach(namespace: string, sandbox: string): Promise<void> {
  console.log(`begin ${namespace} ${sandbox}`);
  await network.detach({ sandbox, interface: 'eth0' });
  occupants.set(namespace, undefined);
  console.log(`detach ${namespace} ${sandbox}`);
}
