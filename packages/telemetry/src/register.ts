import { hostname } from 'node:os'
import { isMainThread } from 'node:worker_threads'
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace'

/**
 * For `node --import @chancery/telemetry`: makes the spans of the services real and sends them to the collector of
 * OTEL_EXPORTER_OTLP_ENDPOINT. Must be loaded before the service, which checks once for a registered tracer.
 */
function register(): void {
  const { OTEL_SERVICE_NAME: name = 'chancery', OTEL_TRACES_SAMPLER_ARG: ratio = '1' } = process.env
  const { OTEL_BSP_SCHEDULE_DELAY: delayMs = '5000' } = process.env
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': name, 'host.name': hostname() }),
    // By the trace id alone: with a parent's own word for it, every caller could decide how much is recorded here.
    sampler: new TraceIdRatioBasedSampler(readNumber('OTEL_TRACES_SAMPLER_ARG', ratio, 1)),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter(),
        scheduledDelayMillis: readNumber('OTEL_BSP_SCHEDULE_DELAY', delayMs, 60_000),
      }),
    ],
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  trace.setGlobalTracerProvider(provider)
  // What was recorded last is the most interesting part of a stop.
  process.once('beforeExit', () => void provider.shutdown())
}

function readNumber(name: string, text: string, max: number): number {
  const value = Number(text)
  if (text.trim() === '' || !(value >= 0 && value <= max)) throw new Error(`${name}: must be a number from 0 to ${max}`)
  return value
}

// Threads inherit --import, but not the environment; their work is part of the span of their caller.
if (isMainThread && process.env['OTEL_SDK_DISABLED'] !== 'true') register()
