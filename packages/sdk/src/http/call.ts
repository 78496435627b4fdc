import { REQUEST_ID_HEADER, type ResponseKind, type Route } from '@chancery/contract'
import { type Instant, type JsonObject, toUtf8, writeJson } from '@chancery/protocol'
import { type ReadResponse, nameTexts, refusalOf } from './read-response.ts'
import { type Query, toTarget } from './url.ts'
import { Endpoints, type RetryOptions, withRetry } from './retry.ts'
import { UsageError } from '../errors.ts'
import type { NodeIdentity, OperatorSign } from './node-signing.ts'
import { type Fetch, type TransportOptions, send } from './transport.ts'
import { systemClock } from './system-clock.ts'
import { type Time, timeOf } from '../trust/signing-time.ts'

/** Given with every method of every area. */
export interface CallOptions {
  readonly signal?: AbortSignal
  /** For this call in all, attempts and pauses together; otherwise that of the client. */
  readonly budgetMs?: number
  /** Names the call in the log of the service; a new one when not given. */
  readonly requestId?: string
}

/** Given with calls that create something. */
export interface WriteOptions extends CallOptions {
  /**
   * Idempotency key (1 to 128 characters of A-Z a-z 0-9 . _ : -, stored for a day): the same key with the same request
   * returns the stored response instead of a second effect (reliability 5.2).
   */
  readonly idempotencyKey?: string
}

/** What a call needs to know of its route; those of a gateway have no more. */
export type CallRoute = Pick<
  Route,
  'id' | 'method' | 'path' | 'params' | 'access' | 'response' | 'records' | 'deadlineSeconds'
>

export interface Call<Answer> {
  readonly route: CallRoute
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Query
  /** A function when the body itself is signed: it is called for every attempt, so that each has its own proof. */
  readonly body?: JsonObject | ((now: Instant) => Promise<JsonObject>)
  /** Operator headers on a route that also answers without them. */
  readonly asOperator?: true
  readonly idempotencyKey?: string | undefined
  readonly read: ReadResponse<Answer>
  /** Doing it twice ends in the same state. Reads always do. */
  readonly repeatable?: boolean
  /** Off where a refusal is itself the answer, as for readiness. */
  readonly retry?: 'never'
  /** Asks this instance and no other. */
  readonly at?: string
  /** Asks an operator route for a compressed answer. It is refused when a proxy compresses it without its length. */
  readonly takesGzip?: boolean
  readonly options?: CallOptions | undefined
}

/** Makes one call; areas know nothing else of the network. */
export type Caller = <Answer>(call: Call<Answer>) => Promise<Answer>

/** What an area is built from. */
export interface Connection {
  readonly call: Caller
  readonly clock: () => Instant
  /** Makes the proofs of a node; present when the client was given a node key. */
  readonly node: NodeIdentity | undefined
  /** The instances of the authority, as given. */
  readonly endpoints: readonly string[]
}

interface CallerParts {
  readonly endpoints: Endpoints
  readonly transport: TransportOptions
  readonly clock: () => Instant
  readonly retry: RetryOptions
  readonly budgetMs: number
  readonly sign: OperatorSign | undefined
  /** Sent with every call: a gateway's bearer credential. Asked for each attempt, since credentials are renewed. */
  readonly headers?: () => Promise<Readonly<Record<string, string>>>
  readonly onOffset?: ((seconds: number) => void) | undefined
}

/** A caller that signs where the route asks for an operator, retries within the rules and reads the answer. */
export function makeCaller(parts: CallerParts): Caller {
  return async (call) => {
    const requestId = call.options?.requestId ?? crypto.randomUUID()
    const isOnce = call.retry === 'never'
    return withRetry((address, leftMs) => attempt(parts, call, { requestId, address, leftMs }), {
      options: isOnce ? { attempts: 1 } : parts.retry,
      repeatable: call.route.method === 'GET' || call.repeatable === true,
      endpoints: isOnce ? new Endpoints(call.at ?? parts.endpoints.current) : parts.endpoints,
      budgetMs: call.options?.budgetMs ?? Math.max(parts.budgetMs, longest(call.route)),
      signal: call.options?.signal,
    })
  }
}

const ACCEPTED: Partial<Readonly<Record<ResponseKind, string>>> = {
  json: 'application/json',
  html: 'text/html',
  static: '*/*',
}

interface Try {
  readonly requestId: string
  readonly address: string
  readonly leftMs: number
}

async function attempt<Answer>(parts: CallerParts, call: Call<Answer>, at: Try): Promise<Answer> {
  const { route } = call
  const target = toTarget(route, call.params, call.query)
  const isOperatorCall =
    route.access === 'operator:standard' || route.access === 'operator:privileged' || call.asOperator === true
  const body = await bodyOf(parts, call)
  const signed = isOperatorCall ? await signerOf(parts, route)(route.method, target, body ?? {}, parts.clock()) : {}
  const timeoutMs = Math.max(parts.transport.timeoutMs, longest(route))
  const incoming = await send(
    { ...parts.transport, timeoutMs },
    {
      baseUrl: at.address,
      leftMs: at.leftMs,
      method: route.method,
      target: target.encoded,
      headers: {
        Accept: ACCEPTED[route.response] ?? 'text/plain',
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(call.idempotencyKey === undefined ? {} : { 'Idempotency-Key': readIdempotencyKey(call.idempotencyKey) }),
        [REQUEST_ID_HEADER]: at.requestId,
        ...(await parts.headers?.()),
        ...signed,
      },
      ...(body === undefined ? {} : { body: toUtf8(writeJson(body)) }),
      takesGzip: isOperatorCall ? call.takesGzip === true && 'once' : route.method === 'GET',
      signal: call.options?.signal,
    },
  )
  const nowMs = Number(parts.clock() / 1000n)
  if (incoming.dateMs !== undefined) parts.onOffset?.(Math.round((nowMs - incoming.dateMs) / 1000))
  if (incoming.status >= 200 && incoming.status < 300) return call.read(incoming)
  throw refusalOf(incoming, nowMs)
}

/** A route that may take long has its own limit, which is longer than that of the client. */
function longest({ deadlineSeconds = 0 }: CallRoute): number {
  return deadlineSeconds * 1000
}

/** A body that is itself signed already has its texts under their names. */
async function bodyOf<Answer>(parts: CallerParts, { body, route }: Call<Answer>): Promise<JsonObject | undefined> {
  if (typeof body === 'function') return body(parts.clock())
  return body === undefined ? undefined : nameTexts(body, route)
}

function signerOf(parts: CallerParts, route: CallRoute): OperatorSign {
  if (parts.sign === undefined)
    throw new UsageError(`${route.id} needs an operator: createAuthorityClient({ operator })`)
  return parts.sign
}

function readIdempotencyKey(key: string): string {
  if (/^[A-Za-z0-9._:-]{1,128}$/.test(key)) return key
  throw new UsageError('an idempotency key is 1 to 128 characters of A-Z a-z 0-9 . _ : -')
}

/** How a service is reached, whether it is an authority or a gateway. */
export interface ConnectionOptions {
  /**
   * Base address, for example https://na.example.org, or those of its instances: one is in use at a time, and an
   * instance that fails is left for the next.
   */
  readonly url: string | readonly string[]
  readonly fetch?: Fetch
  /** Wall time for signed timestamps. */
  readonly clock?: () => Time
  /** For each attempt, from connecting to the last byte; 15 s when not given. */
  readonly timeoutMs?: number
  /** For a whole call with its attempts and pauses; two minutes when not given. */
  readonly budgetMs?: number
  /** Of an answer, as sent and decoded; 64 MiB when not given, which is a revocation list of about 450,000 entries. */
  readonly maxResponseBytes?: number
  readonly retry?: RetryOptions | false
}

const DEFAULTS = { timeoutMs: 15_000, budgetMs: 120_000, maxResponseBytes: 67_108_864 } as const

/** Microseconds by the clock of the options, or of this machine. */
export function clockOf({ clock }: Pick<ConnectionOptions, 'clock'>): () => Instant {
  return clock === undefined ? systemClock : () => timeOf(clock())
}

export function toCallerParts(options: ConnectionOptions): Omit<CallerParts, 'sign' | 'headers'> {
  return {
    endpoints: new Endpoints(options.url),
    budgetMs: options.budgetMs ?? DEFAULTS.budgetMs,
    transport: {
      // Looked up at the call: browsers refuse a fetch that lost its window.
      fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
      timeoutMs: options.timeoutMs ?? DEFAULTS.timeoutMs,
      maxResponseBytes: options.maxResponseBytes ?? DEFAULTS.maxResponseBytes,
    },
    clock: clockOf(options),
    retry: options.retry === false ? { attempts: 1 } : (options.retry ?? {}),
  }
}
