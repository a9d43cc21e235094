/** An API server, etcd and the controller that ends namespaces, without any node. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { until } from '../../support/until.ts';
import { Api } from './api.ts';
import { Component } from './component.ts';

/** Where the API server listens, in the network namespace of this thread. */
export const SERVER = { address: '172.18.0.1', port: 6443 } as const;

const CERTS = join(import.meta.dirname, '../nodes/certs.sh');
const READY_MS = 240_000;

export class ControlPlane {
  readonly folder: string;
  readonly etcd: Component;
  readonly server: Component;
  readonly manager: Component;
  /** As the cluster's administrator. */
  readonly api: Api;

  /** `folder` holds all that it keeps; the programs are in SLUICE_BIN, which scripts/storms sets. */
  static async start(folder: string): Promise<ControlPlane> {
    const [SLUICE_STATE, SLUICE_CLUSTER] = [dirname(folder), basename(folder)];
    execFileSync(CERTS, { env: { ...process.env, SLUICE_STATE, SLUICE_CLUSTER } });
    const plane = new ControlPlane(folder);
    await plane.begin();
    return plane;
  }

  private constructor(folder: string) {
    const log = (name: string) => join(folder, `${name}.log`);
    this.folder = folder;
    this.etcd = new Component(etcdCommand(this.#data), log('etcd'));
    this.server = new Component(serverCommand(folder), log('kube-apiserver'));
    this.manager = new Component(managerCommand(folder), log('kube-controller-manager'));
    this.api = this.apiAs({});
    writeFileSync(join(folder, 'audit.json'), JSON.stringify(AUDIT));
  }

  /** As whoever the administrator may impersonate by these headers. */
  apiAs(headers: Readonly<Record<string, string>>): Api {
    const pki = (name: string) => readFileSync(join(this.folder, 'pki', name));
    const identity = { ca: pki('ca.crt'), cert: pki('admin.crt'), key: pki('admin.key') };
    return new Api(`https://${SERVER.address}:${SERVER.port}`, identity, headers);
  }

  /** Starts what is not running. */
  async begin(): Promise<void> {
    for (const component of [this.etcd, this.server]) if (!component.isRunning) component.start();
    await this.ready();
    // It gives up where it finds no server.
    if (!this.manager.isRunning) this.manager.start();
  }

  async ready(): Promise<void> {
    await until(`an API server (${this.folder}/*.log)`, () => this.api.isReady(), READY_MS);
  }

  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    // In this order: a server without its etcd does not end in order.
    for (const component of [this.manager, this.server, this.etcd]) await component.stop(signal);
  }

  /** What etcd holds now, for `restore`. The server is away meanwhile. */
  async save(): Promise<void> {
    await this.end('SIGTERM');
    rmSync(this.#backup, { recursive: true, force: true });
    cpSync(this.#data, this.#backup, { recursive: true });
    await this.begin();
  }

  /** Everything is killed, and begins again with what etcd held at the last `save`. */
  async restore(): Promise<void> {
    await this.end('SIGKILL');
    rmSync(this.#data, { recursive: true, force: true });
    cpSync(this.#backup, this.#data, { recursive: true });
    await this.begin();
  }

  /** One line for each request and stage since the start, as far as `AUDIT` has them. */
  get auditLog(): string {
    return readFileSync(join(this.folder, 'audit.log'), 'utf8');
  }

  get #data(): string {
    return join(this.folder, 'etcd');
  }

  get #backup(): string {
    return join(this.folder, 'etcd-saved');
  }
}

/** What service accounts do: the agent is one, the administrator is none. */
const AUDIT = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['ResponseStarted'],
  rules: [{ level: 'Metadata', userGroups: ['system:serviceaccounts'] }, { level: 'None' }],
};

const program = (name: string) => join(process.env.SLUICE_BIN ?? '', name);

function etcdCommand(data: string): string[] {
  mkdirSync(data, { recursive: true, mode: 0o700 });
  return [program('etcd'), '--data-dir', data, '--unsafe-no-fsync', '--logger=zap', '--log-level=warn'];
}

function serverCommand(folder: string): string[] {
  const pki = (name: string) => join(folder, 'pki', name);
  return [
    program('kube-apiserver'),
    '--etcd-servers=http://127.0.0.1:2379',
    `--advertise-address=${SERVER.address}`,
    `--secure-port=${SERVER.port}`,
    `--client-ca-file=${pki('ca.crt')}`,
    `--tls-cert-file=${pki('apiserver.crt')}`,
    `--tls-private-key-file=${pki('apiserver.key')}`,
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${pki('sa.pub')}`,
    `--service-account-signing-key-file=${pki('sa.key')}`,
    '--service-cluster-ip-range=10.96.0.0/16,fd00:96::/112',
    '--authorization-mode=RBAC',
    '--allow-privileged',
    // Pods are made here that no kubelet runs and no controller owns.
    '--disable-admission-plugins=ServiceAccount',
    `--audit-policy-file=${join(folder, 'audit.json')}`,
    `--audit-log-path=${join(folder, 'audit.log')}`,
  ];
}

function managerCommand(folder: string): string[] {
  return [
    program('kube-controller-manager'),
    `--kubeconfig=${join(folder, 'pki/admin.conf')}`,
    '--leader-elect=false',
    '--controllers=namespace-controller',
  ];
}
