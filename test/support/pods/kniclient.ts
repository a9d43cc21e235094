/** A client of kni.KNI that was written from the wire table alone: field numbers, and nothing of ours. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, credentials, type ServiceError } from '@grpc/grpc-js';

type Value = string | number | boolean | Buffer;
type Field = readonly [number: number, value: Value | readonly Value[] | Readonly<Record<string, string>>];

export interface KniAnswer {
  /** By field number: what of it there was, as bytes or numbers. */
  readonly fields: ReadonlyMap<number, readonly (Buffer | number)[]>;
}

export class KniClient {
  readonly #client: Client;
  /** Each AttachInterface that was asked for, however it was answered. */
  readonly #attaching: (readonly Field[])[] = [];

  constructor(socket: string) {
    this.#client = new Client(`unix:${socket}`, credentials.createInsecure(), {
      'grpc.default_authority': 'localhost',
    });
  }

  /** Throws a ServiceError with `code` and `details`. */
  call(method: string, fields: readonly Field[]): Promise<KniAnswer> {
    if (method === 'AttachInterface') this.#attaching.push(fields);
    return this.raw(method, message(fields)).then(decode);
  }

  raw(method: string, request: Buffer): Promise<Buffer> {
    const same = (bytes: Buffer) => bytes;
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        `/kni.KNI/${method}`,
        same,
        same,
        request,
        { deadline: Date.now() + 20_000 },
        (error: ServiceError | null, answer?: Buffer) => (error ? reject(error) : resolve(answer!)),
      );
    });
  }

  close(): void {
    this.#client.close();
  }

  async attach(pod: { name: string; namespace: string; id: string; path: string; more?: readonly Field[] }) {
    const isolation = message([
      [1, pod.path],
      [2, 'namespace'],
    ]);
    const { fields } = await this.call('AttachInterface', [
      [1, pod.name],
      [2, pod.id],
      [3, pod.namespace],
      [4, isolation],
      ...(pod.more ?? []),
    ]);
    return ipConfigs(fields.get(1) ?? []);
  }

  /** Takes away what was asked for: pod, sandbox and namespace are the first three fields of both requests. */
  async detachAll(): Promise<void> {
    for (const fields of this.#attaching.splice(0)) await this.call('DetachInterface', fields.slice(0, 3));
  }

  async detach(pod: { name: string; namespace: string; id: string }): Promise<void> {
    await this.call('DetachInterface', [
      [1, pod.name],
      [2, pod.id],
      [3, pod.namespace],
    ]);
  }

  async query(name: string, namespace: string) {
    const { fields } = await this.call('QueryPodNetwork', [
      [1, name],
      [3, namespace],
    ]);
    return { ipconfigs: ipConfigs(fields.get(1) ?? []), extradata: mapOf(fields.get(2) ?? []) };
  }

  /** Waits until the server answers. Throws after half a minute. */
  async answered(): Promise<void> {
    for (const deadlineMs = Date.now() + 30_000; ; await sleep(50)) {
      try {
        await this.node();
        return;
      } catch (error) {
        if (Date.now() > deadlineMs) throw error;
      }
    }
  }

  /** The one network: its name, whether it is ready, and its extradata. */
  async node() {
    const { fields } = await this.call('QueryNodeNetworks', []);
    const network = decode(fields.get(1)![0] as Buffer).fields;
    const [name, ready] = [String(network.get(1)?.[0] ?? ''), network.get(2)?.[0] === 1];
    return { name, ready, extradata: mapOf(network.get(3) ?? []) };
  }
}

interface IpConfig {
  readonly ip: readonly string[];
  readonly mac: string;
  readonly extradata: Readonly<Record<string, string>>;
}

function ipConfigs(entries: readonly (Buffer | number)[]): Record<string, IpConfig> {
  return Object.fromEntries(
    entries.map(entry => {
      const { fields } = decode(entry as Buffer);
      const config = decode((fields.get(2)?.[0] as Buffer) ?? Buffer.alloc(0)).fields;
      return [
        String(fields.get(1)?.[0] ?? ''),
        {
          ip: (config.get(1) ?? []).map(String),
          mac: String(config.get(2)?.[0] ?? ''),
          extradata: mapOf(config.get(3) ?? []),
        },
      ];
    }),
  );
}

export function mapOf(entries: readonly (Buffer | number)[]): Record<string, string> {
  return Object.fromEntries(
    entries.map(entry => {
      const { fields } = decode(entry as Buffer);
      return [String(fields.get(1)?.[0] ?? ''), String(fields.get(2)?.[0] ?? '')];
    }),
  );
}

/** proto3: varints for numbers, length and bytes for the rest; a map is repeated messages of key 1 and value 2. */
export function message(fields: readonly Field[]): Buffer {
  return Buffer.concat(
    fields.flatMap(([number, value]) => {
      if (Array.isArray(value)) return value.map(item => field(number, item));
      if (Buffer.isBuffer(value) || typeof value !== 'object') return [field(number, value as Value)];
      return Object.entries(value).map(([key, item]) =>
        field(
          number,
          message([
            [1, key],
            [2, item],
          ]),
        ),
      );
    }),
  );
}

function field(number: number, value: Value): Buffer {
  if (typeof value === 'number' || typeof value === 'boolean')
    return Buffer.concat([varint(number << 3), varint(Number(value))]);
  const bytes = Buffer.from(value as string);
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (; value > 0x7f; value = Math.floor(value / 128)) bytes.push((value & 0x7f) | 0x80);
  return Buffer.from([...bytes, value]);
}

function decode(bytes: Buffer): KniAnswer {
  const fields = new Map<number, (Buffer | number)[]>();
  let at = 0;
  const next = () => {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = bytes[at++]!;
      value += (byte & 0x7f) * shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = next();
    const size = next();
    const isNumber = (tag & 7) === 0;
    const value = isNumber ? size : bytes.subarray(at, at + size);
    if (!isNumber) at += size;
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value]);
  }
  return { fields };
}
