/** Asks a running agent. */
import {
  type Client,
  type ClientReadableStream,
  connectivityState,
  credentials,
  type ServiceError,
} from '@grpc/grpc-js';
import type { Address } from '../../model/address.ts';
import type { DnsRecord } from '../../names/dnscache.ts';
import type { Denial } from '../../observe/denials/denial.ts';
import type { SeenFlow } from '../../observe/flows/seenflow.ts';
import type { FlowsFacts } from '../../observe/flows/source.ts';
import type { DenialsFacts } from '../health/agentchecks.ts';
import { decodeRecord } from './dnsrecord.ts';
import type {
  DropsRequest,
  DropsResponse,
  FlowsResponse,
  OpenConnections,
  StateObject,
  StatusResponse,
  ToldName,
} from './messages.ts';
import { loadSchema } from './schema.ts';

const DEADLINE_MS = 10_000;

export interface AgentClient {
  status(): Promise<StatusResponse>;
  state(): Promise<readonly StateObject[]>;
  /** The DNS records that hold now; for one address also earlier ones. */
  names(address?: Address): Promise<readonly DnsRecord[]>;
  connections(): Promise<readonly OpenConnections[]>;
  /** The recorded denials, and with `follow` also new ones until the agent ends. */
  drops(follow: boolean): AsyncGenerator<Drops>;
  /** New connections from now on, until the signal or the agent ends it. */
  flows(end: AbortSignal): AsyncGenerator<FlowsMessage>;
  close(): void;
}

/** A message of new and denied connections; the first one has the facts. */
export interface FlowsMessage {
  readonly facts?: FlowsFacts;
  readonly flows: readonly SeenFlow[];
  readonly denials: readonly Denial[];
  /** The agent did not read them in time. */
  readonly lost: number;
  /** How many came before this one and were dropped, because this client read more slowly than they came. */
  readonly skipped: number;
}

/** The stream of denied connections, in messages; the first has the facts. */
export interface Drops {
  readonly facts?: DenialsFacts;
  readonly denial?: Denial;
  /** All recorded denials came before this message. */
  readonly endsRecorded?: true;
  /** How many came before this one and were dropped, because this client read more slowly than they came. */
  readonly skipped: number;
}

interface Calls extends Client {
  Drops(request: DropsRequest, options: { deadline?: number }): ClientReadableStream<DropsResponse>;
  Flows(request: object): ClientReadableStream<FlowsResponse>;
  Status(
    request: object,
    options: { deadline: number },
    callback: (error: ServiceError | null, response: StatusResponse) => void,
  ): void;
  State(request: object, options: { deadline: number }): AsyncIterable<StateObject>;
  Names(request: { address: string }, options: { deadline: number }): AsyncIterable<ToldName>;
  Connections(request: object, options: { deadline: number }): AsyncIterable<OpenConnections>;
}

/** A stream without a deadline ends if the agent's process answers nothing for so long, not even a ping. */
const SILENT_MS = 10_000;

export function connectAgent(socket: string, silentMs = SILENT_MS): AgentClient {
  const { SluiceClient } = loadSchema();
  const options = {
    // A name without special characters, where HTTP/2 wants an authority.
    'grpc.default_authority': 'localhost',
    'grpc.keepalive_time_ms': silentMs,
    'grpc.keepalive_timeout_ms': silentMs,
  };
  const client = new SluiceClient(
    `unix:${socket}`,
    credentials.createInsecure(),
    options,
  ) as unknown as Calls;
  const deadline = () => ({ deadline: Date.now() + DEADLINE_MS });
  return {
    status: () =>
      new Promise((resolve, reject) => {
        client.Status({}, deadline(), (error, response) => (error ? reject(error) : resolve(response)));
      }),
    state: () => collect(client.State({}, deadline())),
    names: async (address = '' as Address) =>
      (await collect(client.Names({ address }, deadline()))).map(decodeRecord),
    connections: () => collect(client.Connections({}, deadline())),
    drops: follow =>
      readDrops(connected(client, client.Drops({ follow }, follow ? {} : deadline()), silentMs)),
    flows: end => readFlows(() => connected(client, client.Flows({}), silentMs), end),
    close: () => client.close(),
  };
}

/**
 * The stream ends with an error if there is no connection after that time: the kernel accepts one for a process that was
 * stopped, and gRPC would wait for its first frame without end. Pings look after a connection that is there.
 */
function connected<T>(client: Client, call: ClientReadableStream<T>, silentMs: number) {
  const timer = setTimeout(() => {
    if (client.getChannel().getConnectivityState(false) === connectivityState.READY) return;
    call.destroy(new Error('it does not answer'));
    call.cancel();
  }, silentMs);
  call.once('close', () => clearTimeout(timer));
  return call;
}

async function* readDrops(stream: AsyncIterable<DropsResponse>): AsyncGenerator<Drops> {
  for await (const { facts, denial, skipped, ends_recorded } of stream)
    yield {
      ...(facts !== '' && { facts: JSON.parse(facts) as DenialsFacts }),
      ...(denial !== '' && { denial: JSON.parse(denial) as Denial }),
      ...(ends_recorded && { endsRecorded: true }),
      skipped,
    };
}

async function* readFlows(
  open: () => ClientReadableStream<FlowsResponse>,
  end: AbortSignal,
): AsyncGenerator<FlowsMessage> {
  // A listener that is added now would not be called any more.
  if (end.aborted) return;
  const call = open();
  const cancel = () => call.cancel();
  end.addEventListener('abort', cancel, { once: true });
  try {
    for await (const { facts, flows, denials, lost, skipped } of call as AsyncIterable<FlowsResponse>)
      yield {
        ...(facts !== '' && { facts: JSON.parse(facts) as FlowsFacts }),
        flows: flows === '' ? [] : (JSON.parse(flows) as SeenFlow[]),
        denials: denials === '' ? [] : (JSON.parse(denials) as Denial[]),
        lost,
        skipped,
      };
  } catch (error) {
    if (!end.aborted) throw error;
  } finally {
    end.removeEventListener('abort', cancel);
    cancel();
  }
}

async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const objects: T[] = [];
  for await (const object of stream) objects.push(object);
  return objects;
}
