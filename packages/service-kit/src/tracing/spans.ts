import { ProxyTracerProvider, ROOT_CONTEXT, SpanKind, SpanStatusCode, propagation, trace } from '@opentelemetry/api'
import type { Attributes, Span, Tracer } from '@opentelemetry/api'
import { Refusal } from '@chancery/contract'
import type { MaybePromise } from '../async/steps.ts'

/**
 * Creates spans when a tracing library was loaded first (`--import @chancery/telemetry`), and nothing otherwise. The
 * library is looked up once, so a service without it pays one comparison per span. Attributes are fixed names and
 * numbers, and the checked request id of the caller: no other text of a caller, no parameter, no document URL.
 */
const tracer: Tracer | undefined = findTracer()

export const isTracing: boolean = tracer !== undefined

/** Returns the registered tracer. The API's default one does nothing, but costs time. */
function findTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider()
  return provider instanceof ProxyTracerProvider
    ? provider.getDelegateTracer('chancery')
    : provider.getTracer('chancery')
}

/** Runs `work` in its own span, which ends with it. */
export function traced<Value>(name: string, attributes: Attributes, work: () => Promise<Value>): Promise<Value>
export function traced<Value>(
  name: string,
  attributes: Attributes,
  work: () => MaybePromise<Value>,
): MaybePromise<Value>
export function traced<Value>(
  name: string,
  attributes: Attributes,
  work: () => MaybePromise<Value>,
): MaybePromise<Value> {
  if (tracer === undefined) return work()
  return tracer.startActiveSpan(name, { attributes }, (span) => {
    try {
      const value = work()
      if (!(value instanceof Promise)) {
        span.end()
        return value
      }
      return value.then(
        (come) => {
          span.end()
          return come
        },
        (error: unknown) => {
          endFailed(span, error)
          throw error
        },
      )
    } catch (error) {
      endFailed(span, error)
      throw error
    }
  })
}

/** The header that names the current span, for a call to a service that may know the trace. */
export function currentTraceParent(): string | undefined {
  const { traceId, spanId, traceFlags } = trace.getActiveSpan()?.spanContext() ?? {}
  if (traceId === undefined || spanId === undefined) return undefined
  return `00-${traceId}-${spanId}-${(traceFlags ?? 0).toString(16).padStart(2, '0')}`
}

/** The span of one request. The edge ends it with the response. */
export interface RequestSpan {
  end(status: number): void
}

export interface TracedRequest {
  /** The template of its route. */
  readonly route: string
  readonly method: string
  readonly requestId: string
  /** Alternating names and values. */
  readonly rawHeaders: readonly string[]
}

/** Runs `work` inside the span of a request, which continues the trace of a caller that named one. */
export function inRequestSpan<Value>(request: TracedRequest, work: (span: RequestSpan | undefined) => Value): Value {
  if (tracer === undefined) return work(undefined)
  const { route, method, requestId, rawHeaders } = request
  const attributes = { 'http.route': route, 'http.request.method': method, 'chancery.request_id': requestId }
  const options = { kind: SpanKind.SERVER, attributes }
  return tracer.startActiveSpan(`${method} ${route}`, options, callerContext(rawHeaders), (span) =>
    work({ end: (status) => endAnswered(span, status) }),
  )
}

/** One traceparent or none; tracestate is a caller's free text and stays outside. */
function callerContext(rawHeaders: readonly string[]): typeof ROOT_CONTEXT {
  const given = rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === 'traceparent')
  return given.length === 1 ? propagation.extract(ROOT_CONTEXT, { traceparent: given[0] }) : ROOT_CONTEXT
}

function endAnswered(span: Span, status: number): void {
  span.setAttribute('http.response.status_code', status)
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}

/** Returns the class of a failure, never its text: driver messages contain values. */
function endFailed(span: Span, error: unknown): void {
  const kind = error instanceof Refusal ? error.code : error instanceof Error ? error.name : 'unknown'
  span.setAttribute('error.type', kind)
  span.setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}
