import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Address, parseAddress } from '../../model/address.ts';
import type { NodeActions } from './nodeactions.ts';
import { manifestsOption, socketOption, unknownPodsOption } from './options.ts';

export function addAgent(sluice: Command, { agent }: Pick<NodeActions, 'agent'>): void {
  const command = sluice
    .command('agent')
    .description('run the node agent: program nftables from network policy');
  for (const add of [
    addSource,
    addListening,
    addScrape,
    addPodNetwork,
    addNames,
    addDenials,
    addCni,
    addStarts,
  ])
    add(command);
  command.addHelpText('after', HELP).action(agent);
}

const HELP = `
It runs until SIGTERM or SIGINT, and leaves its rules in force. Exit code 0: a signal ended it; 2: error, such as a
kernel without a required feature.

  sluice agent --node worker-1 --kubeconfig agent.kubeconfig
  sluice agent --node n1 --manifests k8s/            a folder, and every change of it`;

function addSource(command: Command): void {
  command
    .addOption(
      new Option('--node <name>', 'name of the node whose pods to protect')
        .env('NODE_NAME')
        .makeOptionMandatory(),
    )
    .addOption(
      new Option(
        '--kubeconfig <file>',
        'the cluster to follow; in a pod it is the one that runs it',
      ).conflicts('manifests'),
    )
    .option(manifestsOption[0], `${manifestsOption[1]} to follow instead of a cluster`);
}

function addListening(command: Command): void {
  command
    .addOption(new Option('--log-format <format>', 'log format').choices(['json', 'pretty']))
    .addOption(
      new Option('--log-level <level>', 'the least that the log says; debug: also events that change nothing')
        .choices(['debug', 'info', 'warn', 'error'])
        .default('info'),
    )
    .addOption(socketOption('unix socket to serve KNI, health and status on; none for no socket'))
    .option(
      '--metrics-address <host:port>',
      'where to serve /livez, /readyz and /metrics; none for nowhere',
      '127.0.0.1:9910',
    )
    .addOption(
      new Option('--live-connections <what>', 'what becomes of open connections that policy comes to deny')
        .choices(['cut', 'keep'])
        .default('cut'),
    );
}

function addScrape(command: Command): void {
  command
    .option('--scrape-address <host:port>', 'where a Prometheus elsewhere may read /metrics, over TLS')
    .option('--scrape-tls-dir <dir>', 'tls.crt and tls.key of that address, as a mounted Secret has them')
    .option('--scrape-token-file <file>', 'the bearer token that clients must send to read them');
}

function addPodNetwork(command: Command): void {
  command.addOption(
    new Option(
      '--pod-network <how>',
      'attach: attach pods ourselves, as a runtime asks by KNI or sluice-cni; chained: learn by sluice-cni of the pods that another plugin attaches',
    )
      .choices(['attach', 'chained', 'none'])
      .default('none'),
  );
}

function addNames(command: Command): void {
  command
    .addOption(
      new Option(
        '--dns-servers <addresses>',
        'resolvers that pods ask, beside those of resolv.conf, with commas: only their answers count for domainNames',
      ).argParser(addresses),
    )
    .addOption(
      new Option(
        '--dns-target-ports <ports>',
        'ports beside 53 from which pods of resolvers answer, with commas: what their Service leads to, such as 5353',
      ).argParser(ports),
    )
    .addOption(
      new Option(
        '--dns-floor <seconds>',
        'how long an address of a domain name is allowed at least, however short its TTL',
      )
        .argParser(seconds)
        .default(120),
    );
}

function addDenials(command: Command): void {
  command
    .addOption(
      new Option(
        '--denials <n>',
        'denied packets a second that are named at most (sluice drops); a source has a 25th of it; 0 for none',
      )
        .argParser(count)
        .default(50),
    )
    .addOption(
      new Option(
        '--log-denials <how>',
        'lines of the log for denied connections: one a minute of each kind, or all',
      )
        .choices(['none', 'sampled', 'all'])
        .default('sampled'),
    )
    .addOption(
      new Option(
        '--pod-tunnels <what>',
        'whether pods may send to nodes what is for tunnels (UDP 4789, 5555, 6080, 6081, 8285, 8472, IP protocols 4, 41, 47, and the ports of the node’s own), as overlays in pods do; allow lets a pod past every policy where nodes have an overlay',
      )
        .choices(['deny', 'allow'])
        .default('deny'),
    )
    .option('--count-rules', 'have the rules of policy count what they match: sluice inspect, and metrics');
}

function addCni(command: Command): void {
  command
    .option('--cni-bin-dir <dir>', "put sluice-cni into the runtime's folder of plugins")
    .option(
      '--cni-conf-dir <dir>',
      "with --pod-network=attach, put a list that names sluice-cni into the runtime's folder, as soon as pods can be attached",
    );
}

function addStarts(command: Command): void {
  command
    .addOption(
      new Option(
        '--start-gate <how>',
        'hold each pod back until its rules are in force: nri, off, or nri where the runtime offers it',
      )
        .choices(['auto', 'nri', 'off'])
        .default('auto'),
    )
    .option('--nri-socket <path>', "the runtime's NRI socket", '/var/run/nri/nri.sock')
    .addOption(
      new Option('--start-gate-timeout <ms>', 'how long a pod is held back at most')
        .argParser(milliseconds)
        .default(1500),
    )
    .addOption(
      unknownPodsOption(
        'what becomes of addresses of the pod network that no known pod has (default: deny with the gate)',
      ),
    );
}

function addresses(text: string): Address[] {
  return text.split(',').map(each => {
    const address = parseAddress(each.trim());
    if (address === undefined) throw new InvalidArgumentError(`${each.trim()} is no address.`);
    return address;
  });
}

/** The kernel has room for sixteen switches (names-alive), and each port is a compare for every packet. */
const MOST_PORTS = 8;

function ports(text: string): number[] {
  const found = text.split(',').map(Number);
  if (found.length > MOST_PORTS) throw new InvalidArgumentError(`It has more than ${MOST_PORTS} ports.`);
  const wrong = found.find(port => !(Number.isInteger(port) && port > 0 && port < 65_536));
  if (wrong !== undefined) throw new InvalidArgumentError(`${text} has something that is no port.`);
  return found;
}

function seconds(text: string): number {
  const value = Number(text);
  if (!(Number.isInteger(value) && value > 0 && value <= 86_400))
    throw new InvalidArgumentError('It is not a number of seconds up to a day.');
  return value;
}

function count(text: string): number {
  // An empty value is not 0: otherwise an unset variable would switch naming off.
  if (!/^\d{1,5}$/.test(text) || Number(text) > 10_000)
    throw new InvalidArgumentError('It is not a number from 0 to 10000.');
  return Number(text);
}

function milliseconds(text: string): number {
  const value = Number(text);
  if (!(Number.isInteger(value) && value > 0))
    throw new InvalidArgumentError('It is not a number of milliseconds.');
  return value;
}
