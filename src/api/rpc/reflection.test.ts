import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import protobuf from 'protobufjs';
import 'protobufjs/ext/descriptor/index.js';
import { PassThrough } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { reflectionService } from './reflection.ts';
import { loadReflection, loadSchema } from './schema.ts';

const NAMES = ['kni.KNI', 'grpc.reflection.v1.ServerReflection'];
const { ServerReflectionInfo } = reflectionService(NAMES, [
  ...loadSchema().descriptors,
  ...loadReflection().descriptors,
]) as { ServerReflectionInfo: (call: ServerDuplexStream<object, object>) => void };

/** A call whose answers are read, or pile up where `isFull`. */
class Call extends PassThrough {
  readonly answers: Record<string, object>[] = [];
  isFull = false;

  constructor() {
    super({ objectMode: true });
    ServerReflectionInfo({
      on: (event: string, take: (request: object) => void) => super.on(event, take),
      once: (event: string, take: () => void) => super.once(event, take),
      pause: () => super.pause(),
      resume: () => super.resume(),
      write: (answer: Record<string, object>) => this.answers.push(answer) > 0 && !this.isFull,
      end: () => undefined,
    } as never);
  }
}

async function answerTo(request: object): Promise<Record<string, object>> {
  const call = new Call();
  call.write(request);
  await expect.poll(() => call.answers).toHaveLength(1);
  return call.answers[0]!;
}

test('reflection lists the services, and answers with the request', async () => {
  const request = { message_request: 'list_services', list_services: '*' };
  expect(await answerTo(request)).toEqual({
    original_request: request,
    list_services_response: { service: NAMES.map(name => ({ name })) },
  });
});

test.each([
  ['kni.KNI', 'kni.KNI', 'QueryPodNetwork'],
  ['kni.QueryPodNetworkRequest', 'kni.KNI', 'CreateNetwork'],
  ['grpc.health.v1.Health', 'grpc.health.v1.Health', 'Check'],
  ['sluice.v1.Sluice.Status', 'sluice.v1.Sluice', 'Drops'],
  ['grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1.ServerReflection', 'ServerReflectionInfo'],
])('reflection describes what has %s, as protobuf reads it', async (symbol, service, method) => {
  const request = { message_request: 'file_containing_symbol', file_containing_symbol: symbol };
  const { file_descriptor_response } = await answerTo(request);
  const { file_descriptor_proto } = file_descriptor_response as { file_descriptor_proto: Buffer[] };
  const files = { file: file_descriptor_proto.map(decoded) };
  const root = (protobuf.Root as unknown as { fromDescriptor(files: object): protobuf.Root }).fromDescriptor(
    files,
  );
  expect(Object.keys(root.lookupService(service).methods)).toContain(method);
  const name = String((files.file[0] as { name?: string }).name);
  const again = await answerTo({ message_request: 'file_by_filename', file_by_filename: name });
  expect(again.file_descriptor_response).toEqual(file_descriptor_response);
});

test('reflection names the entries of a map after its field, as protoc does', async () => {
  const request = { message_request: 'file_containing_symbol', file_containing_symbol: 'kni.KNI' };
  const { file_descriptor_response } = await answerTo(request);
  const [bytes] = (file_descriptor_response as { file_descriptor_proto: Buffer[] }).file_descriptor_proto;
  const { messageType } = decoded(bytes!) as { messageType: MessageType[] };
  const [ipConfig] = messageType;
  expect(ipConfig).toMatchObject({ name: 'IPConfig', nestedType: [{ name: 'ExtradataEntry' }] });
  expect(ipConfig!.field.map(({ typeName }) => typeName).filter(Boolean)).toEqual(['ExtradataEntry']);
});

interface MessageType {
  readonly name: string;
  readonly field: readonly { readonly typeName: string }[];
}

const decoded = (bytes: Buffer): object =>
  (
    protobuf as unknown as { descriptor: { FileDescriptorProto: protobuf.Type } }
  ).descriptor.FileDescriptorProto.decode(bytes);

test.each([
  [{ message_request: 'file_containing_symbol', file_containing_symbol: 'kniX.KNI' }, status.NOT_FOUND],
  [{ message_request: 'file_by_filename', file_by_filename: '../../etc/passwd' }, status.NOT_FOUND],
  [{ message_request: 'all_extension_numbers_of_type' }, status.UNIMPLEMENTED],
  [{}, status.UNIMPLEMENTED],
])('reflection refuses %j', async (request, error_code) => {
  expect((await answerTo(request)).error_response).toMatchObject({ error_code });
});

test('reflection reads no further from a client that reads nothing', async () => {
  const call = new Call();
  call.isFull = true;
  for (let n = 0; n < 5; n++) call.write({ message_request: 'list_services' });
  await vi.waitFor(() => expect(call.isPaused()).toBe(true));
  expect(call.answers).toHaveLength(1);
  call.isFull = false;
  call.emit('drain');
  await expect.poll(() => call.answers).toHaveLength(5);
});
