/** The API server takes what daemonset/ says, as it is and with every overlay. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Storm } from './storm.ts';

const DAEMONSET = join(import.meta.dirname, '../../../daemonset');
const OBJECTS = ['clusterrole', 'clusterrolebinding', 'daemonset', 'namespace', 'serviceaccount'];
/** Where the agent writes its Node, what binds it to its own. */
const MORE: Readonly<Record<string, readonly string[]>> = {
  'overlays/pod-network': ['validatingadmissionpolicy', 'validatingadmissionpolicybinding'],
};
/** The kinds of `monitoring` are the Prometheus operator's: chart.spec.ts brings them. */
const OVERLAYS = readdirSync(join(DAEMONSET, 'overlays')).filter(name => name !== 'monitoring');
const FOLDERS = ['.', 'base', ...OVERLAYS.map(name => `overlays/${name}`)];

let storm: Storm;

beforeAll(async () => {
  storm = await Storm.begin();
});

afterAll(() => storm?.end());

describe('kubectl apply --dry-run=server', () => {
  test.each(FOLDERS)('takes daemonset/%s', folder => {
    expect(dryRun('-k', join(DAEMONSET, folder))).toEqual([...OBJECTS, ...(MORE[folder] ?? [])]);
  });

  test('takes install.yaml', () => {
    expect(dryRun('-f', join(DAEMONSET, 'install.yaml'))).toEqual(OBJECTS);
  });
});

/** The kinds that were taken; a field that the server does not know is an error. */
function dryRun(...what: readonly string[]): string[] {
  const kubectl = join(process.env.SLUICE_BIN ?? '', 'kubectl');
  const config = `--kubeconfig=${storm.plane.folder}/pki/admin.conf`;
  const args = ['apply', '--dry-run=server', '--validate=strict', '-o', 'name', config, ...what];
  const output = execFileSync(kubectl, args, { encoding: 'utf8', stdio: 'pipe' });
  return output
    .trim()
    .split('\n')
    .map(line => line.split(/[./]/)[0]!)
    .toSorted();
}
