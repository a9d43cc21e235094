/** grpc.reflection.v1: clients as grpcurl learn what may be asked here, and need no .proto file. */
import { type ServerDuplexStream, status, type UntypedServiceImplementation } from '@grpc/grpc-js';
import type protobuf from 'protobufjs';
import descriptor from 'protobufjs/ext/descriptor/index.js';

/** As decoded: `message_request` names the field that is set. */
interface Request {
  readonly message_request?: string;
  readonly file_by_filename?: string;
  readonly file_containing_symbol?: string;
}

/** A .proto file in the form in which it is sent, and the names by which it is asked for. */
interface ProtoFile {
  readonly name: string;
  readonly package: string;
  readonly bytes: Buffer;
}

/** `services` are full names; `descriptors` are encoded FileDescriptorProtos, which import no others. */
export function reflectionService(
  services: readonly string[],
  descriptors: readonly Buffer[],
): UntypedServiceImplementation {
  const files = descriptors.map(fileOf);
  return {
    ServerReflectionInfo: (call: ServerDuplexStream<Request, object>) => {
      call.on('data', (request: Request) => {
        const answer = { original_request: request, ...answerTo(request, services, files) };
        // A client that does not read is not read from, either.
        if (call.write(answer)) return;
        call.pause();
        call.once('drain', () => call.resume());
      });
      call.on('end', () => call.end());
    },
  };
}

/** As far as it is looked at here. */
interface MessageType {
  name: string;
  readonly field: readonly { readonly name: string; typeName?: string }[];
  readonly nestedType: readonly (MessageType & { readonly options?: { readonly mapEntry?: boolean } })[];
}

function fileOf(encoded: Buffer): ProtoFile {
  const { FileDescriptorProto } = descriptor;
  const file = FileDescriptorProto.decode(encoded) as protobuf.Message & {
    readonly name: string;
    readonly package: string;
    readonly messageType: readonly MessageType[];
  };
  for (const message of file.messageType) nameMapEntries(message);
  return {
    name: file.name,
    package: file.package,
    bytes: Buffer.from(FileDescriptorProto.encode(file).finish()),
  };
}

/** A map is a list of messages whose name follows from the field's. protobufjs calls them otherwise, and grpcurl refuses that. */
function nameMapEntries({ field: fields, nestedType }: MessageType): void {
  for (const field of fields) {
    const entry = nestedType.find(({ name, options }) => options?.mapEntry && name === field.typeName);
    if (entry === undefined) continue;
    entry.name = `${field.name.split('_').map(capitalized).join('')}Entry`;
    field.typeName = entry.name;
  }
  for (const nested of nestedType) nameMapEntries(nested);
}

function capitalized(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

function answerTo(request: Request, services: readonly string[], files: readonly ProtoFile[]): object {
  const { message_request, file_by_filename, file_containing_symbol = '' } = request;
  switch (message_request) {
    case 'list_services':
      return { list_services_response: { service: services.map(name => ({ name })) } };
    case 'file_by_filename':
      return fileAnswer(files.find(({ name }) => name === file_by_filename));
    case 'file_containing_symbol':
      return fileAnswer(files.find(file => file_containing_symbol.startsWith(`${file.package}.`)));
    default:
      return refusal(status.UNIMPLEMENTED, 'there are no extensions here');
  }
}

function fileAnswer(file: ProtoFile | undefined): object {
  return file === undefined
    ? refusal(status.NOT_FOUND, 'nothing of that name is served here')
    : { file_descriptor_response: { file_descriptor_proto: [file.bytes] } };
}

function refusal(error_code: number, error_message: string): object {
  return { error_response: { error_code, error_message } };
}
