/** A rule by name, and what an answer of DNS changes: a real question, held by the agent until its address is allowed. */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Address } from '../../src/model/address.ts';
import { CommandError } from '../../src/terminal/commanderror.ts';
import {
  AF_INET,
  bind,
  close,
  connect,
  type Fd,
  POLLIN,
  poll,
  receive,
  SOCK_DGRAM,
  send,
  socket,
} from '../lab/libc.ts';
import { inNamespace } from '../lab/netns.ts';
import { probe } from '../lab/probe/probe.ts';
import { socketAddress } from '../lab/probe/sockaddr.ts';
import { address } from '../lab/topology.ts';
import { answerTo, question } from './dnsmessage.ts';
import { MAIL_HOSTS } from './mailhosts.ts';
import { diffLine, heading, line, step } from './narrate.ts';
import type { Stage } from './stage.ts';

const NAME = 'mail.example.com';
const [MAIL, OTHER] = MAIL_HOSTS;
const PORT = 587;

const POLICY = `apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: { name: mail-by-name }
spec:
  tier: Admin
  priority: 1
  subject: { pods: { namespaceSelector: {}, podSelector: { matchLabels: { app: api } } } }
  egress:
    - name: mail
      action: Accept
      to: [{ domainNames: [${NAME}] }]
      protocols: [{ tcp: { destinationPort: { number: ${PORT} } } }]
    - name: no-other-mail
      action: Deny
      to: [{ networks: [0.0.0.0/0, "::/0"] }]
      protocols: [{ tcp: { destinationPort: { number: ${PORT} } } }]
`;

export interface Tried {
  readonly tried: number;
  readonly wrong: number;
}

/** Answers how many flows there were, and how many did not do what policy says. */
export async function showByName(stage: Stage, manifests: string): Promise<Tried> {
  heading(`By name: pods app=api may send mail to ${NAME} only`);
  for (const text of POLICY.split('\n').slice(6, -1)) diffLine(`+  ${text}`);
  if (!stage.readsDns) {
    line('this kernel has no queue in which answers of DNS could wait: rules by name match nothing here');
    return { tried: 0, wrong: 0 };
  }
  const { pods } = await stage.cluster();
  await step('from the file to both kernels, until DNS answers are read', async () => {
    const file = join(manifests, 'names.yaml');
    writeFileSync(`${file}.new`, POLICY);
    renameSync(`${file}.new`, file);
    await stage.settle();
    for (const pod of ['shop/api', 'shop/jobs'] as const) await stage.readingAnswers(pods.get(pod)!.node);
  });
  return tryByName(stage);
}

/** Tries before any answer, after one, and after one with another address. */
async function tryByName(stage: Stage): Promise<Tried> {
  const { pods } = await stage.cluster();
  const addressOf = (pod: `${string}/${string}`) => pods.get(pod)!.addresses[0]!;
  const [api, jobs, dns] = [addressOf('shop/api'), addressOf('shop/jobs'), addressOf('kube-system/coredns')];
  const tries: boolean[] = [];
  const attempt = async (from: Address, to: Address, expected: 'open' | 'closed', why: string) => {
    const [outcome] = await probe(stage.lab, [{ from, to, port: PORT, protocol: 'TCP' }]);
    tries.push(outcome === expected);
    const who = from === api ? 'shop/api ' : 'shop/jobs';
    line(`${outcome === expected ? '✓' : 'WRONG'} ${who} -> ${to}:${PORT}  ${outcome?.padEnd(6)}  ${why}`);
  };
  const asks = async (title: string, answer: Address) => {
    const answered = await step(title, () => ask(stage, api, dns, answer));
    if (answered !== answer)
      throw new CommandError(`DNS answered ${answered ?? 'nothing'}, and not ${answer}`);
  };
  await attempt(api, MAIL, 'closed', 'no pod has an answer yet');
  await asks(`shop/api asks ${NAME}; the answer waits until its address is allowed`, MAIL);
  await attempt(api, MAIL, 'open', 'it has the answer, and its first packet passes');
  await attempt(api, OTHER, 'closed', 'another address');
  await attempt(jobs, MAIL, 'closed', 'the same rule, but it has no answer');
  await asks('the name has another address now, and shop/api asks again', OTHER);
  await attempt(api, OTHER, 'open', 'it has the answer');
  await attempt(api, MAIL, 'open', 'its time has not ended');
  await attempt(jobs, OTHER, 'closed', 'it has no answer');
  return { tried: tries.length, wrong: tries.filter(fits => !fits).length };
}

const PATIENCE_MS = 3_000;

/** A question of a pod to another pod, and its answer: both sockets belong to this process, in the pods' namespaces. */
async function ask(
  { lab }: Stage,
  from: Address,
  dns: Address,
  answered: Address,
): Promise<Address | undefined> {
  const open = (at: Address) => inNamespace(lab.namespaceOf(at), () => socket(AF_INET, SOCK_DGRAM));
  const [resolver, client] = [open(dns), open(from)];
  try {
    bind(resolver, socketAddress(dns, 53));
    bind(client, socketAddress(from, 0));
    connect(client, socketAddress(dns, 53));
    send(client, question(NAME));
    const asked = await received(resolver);
    if (asked !== undefined) send(resolver, answerTo(asked.data, answered), asked.from);
    const answer = await received(client);
    return answer && address([...answer.data.subarray(-4)].join('.'));
  } finally {
    close(resolver);
    close(client);
  }
}

async function received(fd: Fd) {
  const entry = new Uint8Array(8);
  const view = new DataView(entry.buffer);
  view.setInt32(0, fd, true);
  view.setInt16(4, POLLIN, true);
  await poll(entry, PATIENCE_MS);
  return receive(fd);
}
