/** The two ways in which a pod has its rules before it starts, as gate-test.sh has them. */
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cniSocketOf } from '../../../src/api/rpc/cnisocket.ts';
import { installPlugin, publishList } from '../../../src/network/cni/plugininstall.ts';
import { buildShim } from '../../support/pods/shim.ts';

const SOCKET = '/run/sluice/sluice.sock';

export interface Way {
  /** Of an agent that holds pods back, and what it says when it does. */
  readonly options: readonly string[];
  readonly says: RegExp;
  /** Of one that does not, where pods get a network all the same. */
  readonly without?: readonly string[];
  readonly manifests: string;
  /** As the API server would tell before a kubelet starts a pod, where that is needed, and when it is gone. */
  told(namespace: string, name: string): void;
  gone(name: string): void;
}

/** `folder` is that of node.sh: the runtime's plugins are in `plugins`, its list is in `cni`. */
export async function wayOf(how: string, folder: string): Promise<Way> {
  const manifests = join(folder, 'manifests');
  mkdirSync(manifests);
  copyFileSync(join(import.meta.dirname, 'cluster.yaml'), join(manifests, 'cluster.yaml'));
  const write = (name: string, object: object) =>
    writeFileSync(join(manifests, `${name}.json`), JSON.stringify({ apiVersion: 'v1', ...object }));
  const node = (podCIDR: string) =>
    write('node', { kind: 'Node', metadata: { name: 'n1' }, spec: { podCIDRs: [podCIDR] } });
  if (how === 'gate') {
    node('10.88.0.0/22');
    const options = ['--start-gate', 'nri'];
    const without = ['--start-gate', 'off'];
    return { options, says: /the runtime waits/, without, manifests, told: () => {}, gone: () => {} };
  }
  node('10.88.0.0/26'); // so few that a pod gets the address of one that ended while there was no agent
  await installPlugin(buildShim(folder), join(folder, 'plugins'));
  await publishList(join(folder, 'cni'), cniSocketOf(SOCKET));
  mkdirSync('/run/sluice');
  return {
    options: ['--pod-network', 'attach', '--start-gate', 'off', '--socket', SOCKET],
    says: /rules in force/,
    manifests,
    told: (namespace, name) =>
      write(name, { kind: 'Pod', metadata: { name, namespace }, spec: { nodeName: 'n1', containers: [] } }),
    gone: name => rmSync(join(manifests, `${name}.json`)),
  };
}
