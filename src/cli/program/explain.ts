import { type Command, Option } from 'commander';
import { output, unknownPodsAsked } from './options.ts';
import { withSources } from './sourceoptions.ts';

export function addExplain(sluice: Command): void {
  withSources(
    sluice
      .command('explain')
      .description('say what policy decides for a connection, and why')
      .argument('[from]', 'who opens it: a pod, a workload, a node, an address … (see below)')
      .argument('[to]', 'who is meant to answer: these, or a Service; then [:port[/protocol]]'),
  )
    .addOption(new Option('--dump <file>', 'ask of what `sluice inspect dump` wrote').conflicts('manifests'))
    .option(
      '--flows <file>',
      "many connections, one a line: FROM TO[:PORT[/PROTOCOL]]; '-' reads standard input",
    )
    .addOption(unknownPodsAsked())
    .option('--fix', 'propose the smallest policies that would turn the verdict, and say what else they turn')
    .addOption(output('wide'))
    .addHelpText('after', EXPLAIN_HELP)
    .action(async (from, to, options) => (await import('../explain.ts')).explainCommand(from, to, options));
}

const EXPLAIN_HELP = `
FROM and TO are
  shop/web  web              a pod (of the namespace of -n, else default)
  deploy/web  shop/sts/db    the pods of a workload, or of its template where it has none (sts, ds, job, cronjob, rs)
  svc/api:80  10.96.0.7:80   a Service by name or address: each endpoint that would answer is judged
  api.shop:80  db-0.db.shop.svc:5432  the same, and one pod behind it, as the cluster's DNS has them
  node/worker-1              a node; what has its network is the node, to policy
  10.0.0.7  [fd00::7]:80     an address; internet is all that are public, example.com whatever one it has
  shop/app=web,tier=front    a pod of these labels that is not there yet
TO may end in :PORT (a number or a name) and /PROTOCOL. Both address families are judged, and the stricter verdict
counts.

Without a port it is ICMP that is asked about; with a port, TCP unless it says more: shop/db:53/UDP.
shop/web@6 asks about IPv6 alone. --flows also takes policy-assistant's traffic and probe JSON.

Exit code 0: allowed; 1: denied; 2: trouble, or nobody can say (an address that may be a
Service's, a Service without endpoints, policies that may not or cannot be read).

  sluice explain deploy/web svc/api:80 -n shop         of the cluster that kubectl would ask
  sluice explain internet shop/web:443 --manifests k8s/
  helm template . | sluice explain shop/deploy/web shop/db:5432 --manifests -

The policies that select the pod are listed in order of precedence:
  no match      no rule of it matches
  decided       its rule, or that it selects the pod and allows nothing here, is the reason
  same verdict  it agrees with the policy that decided
  passed        its rule hands the decision on to the next tier
  nearly        a rule that would have allowed it, had one or two things been otherwise
  overridden    it would change the verdict, had the named policy before it not decided`;
