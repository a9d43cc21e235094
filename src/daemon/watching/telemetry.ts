/**
 * Denied connections as logs of OpenTelemetry, where its own variables name a collector. The library keeps 2,048 of
 * them at most while the collector is away, and lets the others go.
 */
import type { ExportResult } from '@opentelemetry/core';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider, type LogRecordExporter } from '@opentelemetry/sdk-logs';
import { settledWithin } from '../../lib/async/sleep.ts';
import type { Denial } from '../../observe/denials/denial.ts';
import { denialRecord } from '../../observe/denials/telemetry.ts';

export interface TelemetryOptions {
  readonly node: string;
  /** Tells of every denial from now on; the answer ends it. */
  readonly follow: (follower: (denial: Denial) => void) => () => void;
  /** How long the collector may take to end its answer: the library waits for one that never ends. */
  readonly answerMs?: number;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

/** For as long as it takes to end: pods are given seconds. */
const END_MS = 2_000;
/** Longer than the library tries by itself. */
const ANSWER_MS = 60_000;
const NO_END = 'its answer does not end';

/** To where the variables say: OTEL_EXPORTER_OTLP_LOGS_ENDPOINT, or OTEL_EXPORTER_OTLP_ENDPOINT; over HTTP, as JSON. */
export function sendDenials({ node, follow, log, answerMs = ANSWER_MS }: TelemetryOptions): {
  close(): Promise<void>;
} {
  const exporter = saying(new OTLPLogExporter(), log, answerMs);
  const provider = new LoggerProvider({
    resource: resourceFromAttributes({ 'service.name': 'sluice', 'k8s.node.name': node }),
    processors: [new BatchLogRecordProcessor({ exporter })],
  });
  const logger = provider.getLogger('sluice');
  const unfollow = follow(denial => logger.emit(denialRecord(denial)));
  return {
    close: async () => {
      unfollow();
      await settledWithin(END_MS, provider.shutdown());
    },
  };
}

/** Says when records cannot be sent, and when they can again; not each time. */
function saying(inner: LogRecordExporter, log: TelemetryOptions['log'], answerMs: number): LogRecordExporter {
  let failure: string | undefined;
  const note = ({ code, error }: ExportResult) => {
    const text = code === 0 ? undefined : (error?.message ?? 'no reason given');
    if (text !== undefined && failure === undefined)
      log.warn({}, `denied connections do not reach the collector of OpenTelemetry: ${text}`);
    if (text === undefined && failure !== undefined)
      log.info({}, 'denied connections reach the collector of OpenTelemetry again');
    failure = text;
  };
  return {
    export: (records, done) => {
      let isOver = false;
      const over = (result: ExportResult) => {
        if (isOver) return;
        isOver = true;
        clearTimeout(late);
        note(result);
        done(result);
      };
      const late = setTimeout(() => over({ code: 1, error: new Error(NO_END) }), answerMs).unref();
      inner.export(records, over);
    },
    forceFlush: () => inner.forceFlush(),
    shutdown: () => inner.shutdown(),
  };
}
