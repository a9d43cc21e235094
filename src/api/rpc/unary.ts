import type { handleUnaryCall, ServiceError } from '@grpc/grpc-js';
import { Metadata, status } from '@grpc/grpc-js';

/** Why a call is refused, for the caller to read. */
export class CallRefusal extends Error {
  override readonly name = 'CallRefusal';
  readonly code: status;

  constructor(code: status, message: string) {
    super(message);
    this.code = code;
  }
}

/** A call that answers one value, or throws CallRefusal. */
export function unary<Request, Response>(
  answer: (request: Request) => Promise<Response> | Response,
): handleUnaryCall<Request, Response> {
  return (call, callback) => {
    Promise.resolve()
      .then(() => answer(call.request))
      .then(
        response => callback(null, response),
        error => callback(refusalOf(error)),
      );
  };
}

export function refusalOf(error: unknown): ServiceError {
  const { code, message } =
    error instanceof CallRefusal ? error : new CallRefusal(status.INTERNAL, (error as Error).message);
  return Object.assign(new Error(message), { code, details: message, metadata: new Metadata() });
}
