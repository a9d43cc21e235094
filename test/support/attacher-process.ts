/**
 * Attaches and detaches pods of a folder's namespaces at random until it is killed, as an agent would: in the network
 * namespace that it is started in. Says on a line what it begins, and what was answered.
 */
import { parseCidr } from '../../src/model/address.ts';
import { NamespaceHelper } from '../../src/network/helper.ts';
import { HostPorts } from '../../src/network/hostports.ts';
import { NodeLinks } from '../../src/network/nodelinks.ts';
import { PodNetwork } from '../../src/network/podnetwork.ts';
import { PodTableSocket } from '../../src/network/podtablesocket.ts';

const [cidrs = '', ...namespaces] = process.argv.slice(2);
const podCidrs = cidrs.split(',');
const node = { name: 'n', labels: {}, addresses: [], podCidrs };
const network = new PodNetwork({
  node: 'n',
  links: new NodeLinks(),
  helper: new NamespaceHelper(),
  ports: new HostPorts(new PodTableSocket()),
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
await network.start();
const WORKERS = 8;
await Promise.all(Array.from({ length: WORKERS }, (_, worker) => churn(worker)));

/** Each worker has pods of its own, so that an answer is not overtaken by another's. */
async function churn(worker: number): Promise<never> {
  const mine = namespaces.filter((_, index) => index % WORKERS === worker);
  for (;;) {
    const namespace = mine[Math.floor(Math.random() * mine.length)]!;
    const name = namespace.slice(namespace.lastIndexOf('.') + 1);
    const endpoint = { sandbox: name, interface: 'eth0' };
    process.stdout.write(`begin ${name}\n`);
    if (Math.random() < 0.6) {
      const port = 1000 + namespaces.indexOf(namespace);
      const hostPorts = port % 5 === 0 ? [{ protocol: 'TCP', hostPort: port, podPort: 80 } as const] : [];
      const { addresses } = await network.attach({ ...endpoint, pod: `shop/${name}`, namespace, hostPorts });
      process.stdout.write(`attach ${name} ${addresses.join(',')}\n`);
    } else {
      await network.detach(endpoint);
      process.stdout.write(`detach ${name}\n`);
    }
  }
}
