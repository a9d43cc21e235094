/**
 * Reads manifests, and writes them with the API server's own address in every container: for clusters without
 * kube-proxy, where the Service of the API server leads nowhere.
 *
 *     … | node directly.ts HOST PORT
 */
import { text } from 'node:stream/consumers';
import { parseAllDocuments, stringify } from 'yaml';

interface Manifest {
  readonly spec?: { readonly template?: { readonly spec: { readonly containers: Container[] } } };
}

interface Container {
  env?: { readonly name: string; readonly value: string }[];
}

const [host = '', port = ''] = process.argv.slice(2);
const ADDRESS = [
  { name: 'KUBERNETES_SERVICE_HOST', value: host },
  { name: 'KUBERNETES_SERVICE_PORT', value: port },
];

const manifests = parseAllDocuments(await text(process.stdin)).map(document => document.toJS() as Manifest);
for (const { spec } of manifests)
  for (const container of spec?.template?.spec.containers ?? [])
    container.env = [...(container.env ?? []), ...ADDRESS];
process.stdout.write(manifests.map(manifest => stringify(manifest)).join('---\n'));
