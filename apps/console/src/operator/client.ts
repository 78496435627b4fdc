import { REQUEST_ID_HEADER } from '@chancery/contract'
import { type JsonObject, type JsonValue, isJsonObject, member } from '@chancery/protocol'
import { session } from './key.ts'
import { type Payload, makePayload, signPayload } from './signing/payload.ts'
import { type Query, type Target, withParameters } from './target.ts'

export { at, withParameters } from './target.ts'
export type { Query, Target } from './target.ts'

/** Why a request gave no result. */
export class CallError extends Error {
  /** 0 without a response. */
  readonly status: number
  readonly code: string
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined
  readonly details: JsonObject

  constructor(facts: Pick<CallError, 'message' | 'status' | 'code' | 'requestId' | 'retryAfterSeconds' | 'details'>) {
    super(facts.message)
    this.status = facts.status
    this.code = facts.code
    this.requestId = facts.requestId
    this.retryAfterSeconds = facts.retryAfterSeconds
    this.details = facts.details
  }

  /** True when the request may have had its effect: no response of the authority came, or one that states this. */
  get isUncertain(): boolean {
    const isForeign = this.code === 'unexpected_response' && (this.status < 300 || this.status >= 500)
    return this.status === 0 || isForeign || this.details['outcome'] === 'unknown'
  }
}

/** The clock of the authority minus the local one, from the last response, in milliseconds. */
let offsetMs = 0
export const authorityNow = (): number => Date.now() + offsetMs
export const clockOffsetMs = (): number => offsetMs

const TIMEOUT_MS = 15_000

/** Reads as operator: one signed GET. The caller states the type of the answer, which the authority documents. */
export async function read<Answer>(target: Target, query: Query = {}, signal?: AbortSignal): Promise<Answer> {
  const payload = makePayload({ method: 'GET', target: withParameters(target, query) })
  return (await send(payload, signal)) as Answer
}

/** Reads as operator and returns the text as sent, for digests: parsing may change the spelling of numbers. */
export async function readText(target: Target, query: Query = {}, signal?: AbortSignal): Promise<string> {
  const payload = makePayload({ method: 'GET', target: withParameters(target, query) })
  const { headers } = await signPayload(payload)
  return toText(await fetchBytes(payload.target.encoded, { method: 'GET', headers }, signal))
}

/** As readText, for a document whose rows are shown from the same text: it is JSON. */
export async function readJsonText(target: Target, query: Query, signal?: AbortSignal): Promise<string> {
  const payload = makePayload({ method: 'GET', target: withParameters(target, query) })
  const { headers } = await signPayload(payload)
  return toJsonText(await request(payload.target.encoded, { method: 'GET', headers }, signal))
}

/** Reads a public document as text, for numbers that must stay as they were signed: it is JSON. */
export async function readPublicText(target: Target, signal?: AbortSignal): Promise<string> {
  return toJsonText(await request(target.encoded, { method: 'GET' }, signal))
}

function toJsonText({ response, bytes }: Exchanged): string {
  const text = toText(bytes)
  const value = parse(text)
  if (response.ok && value !== undefined) return text
  throw toCallError(response, value)
}

/** Opens an event stream as operator: one signed GET whose response has no time limit. */
export async function openStream(
  target: Target,
  query: Query,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const payload = makePayload({ method: 'GET', target: withParameters(target, query) })
  const { headers } = await signPayload(payload)
  const signals = [signal, session.get()?.signal].filter((each) => each !== undefined)
  const accept = { ...headers, Accept: 'text/event-stream' }
  const response = await fetchSame(payload.target.encoded, { headers: accept, signal: AbortSignal.any(signals) })
  if (response.ok && response.body !== null) return response.body
  throw toCallError(response, parse(await response.text()))
}

/** Reads a public document, without a signature. */
export async function readPublic<Answer>(target: Target, signal?: AbortSignal): Promise<Answer> {
  return (await exchange(target.encoded, { method: 'GET' }, signal)) as Answer
}

/** Reads a public file that is not JSON. `path` has no values of a user. */
export async function readPublicBytes(path: string, signal?: AbortSignal): Promise<Uint8Array> {
  return fetchBytes(path, { method: 'GET' }, signal)
}

/** Signs the bytes of a payload and sends it. */
export async function send(payload: Payload, signal?: AbortSignal): Promise<JsonValue> {
  const { headers, body } = await signPayload(payload)
  const init = { method: payload.method, headers, ...(body === undefined ? {} : { body }) }
  return exchange(payload.target.encoded, init, signal)
}

/** The request id of each answer, which its audit event names. */
const requestIds = new WeakMap<object, string>()
export const requestIdOf = (answer: JsonObject | undefined): string | undefined =>
  answer === undefined ? undefined : requestIds.get(answer)

async function exchange(encoded: string, init: RequestInit, signal?: AbortSignal): Promise<JsonValue> {
  const { response, bytes } = await request(encoded, init, signal)
  const value = parse(toText(bytes))
  if (response.ok && value !== undefined) {
    const id = response.headers.get(REQUEST_ID_HEADER)
    if (isJsonObject(value) && id !== null) requestIds.set(value, id)
    return value
  }
  throw toCallError(response, value)
}

async function fetchBytes(encoded: string, init: RequestInit, signal?: AbortSignal): Promise<Uint8Array> {
  const { response, bytes } = await request(encoded, init, signal)
  if (response.ok) return bytes
  throw toCallError(response, parse(toText(bytes)))
}

const toText = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

interface Exchanged {
  readonly response: Response
  readonly bytes: Uint8Array
}

async function request(encoded: string, init: RequestInit, signal?: AbortSignal): Promise<Exchanged> {
  const signals = [AbortSignal.timeout(TIMEOUT_MS), signal, session.get()?.signal].filter((each) => each !== undefined)
  const headers = { Accept: 'application/json', ...init.headers }
  let response: Response
  let bytes: Uint8Array
  try {
    response = await fetchSame(encoded, { ...init, headers, signal: AbortSignal.any(signals) })
    bytes = new Uint8Array(await response.arrayBuffer())
  } catch (error) {
    if (signal?.aborted === true || session.get()?.signal.aborted === true) throw error
    throw noAnswer()
  }
  const dateMs = Date.parse(response.headers.get('Date') ?? '')
  if (!Number.isNaN(dateMs) && Math.abs(dateMs - Date.now() - offsetMs) > 1_000) offsetMs = dateMs - Date.now()
  return { response, bytes }
}

/** A redirect would send a signed request to an address that was not shown. */
function fetchSame(encoded: string, init: RequestInit): Promise<Response> {
  return fetch(encoded, { ...init, redirect: 'error', credentials: 'omit', cache: 'no-store' })
}

function noAnswer(): CallError {
  const message = 'The authority does not respond.'
  return new CallError({
    message,
    status: 0,
    code: 'no_response',
    requestId: undefined,
    retryAfterSeconds: undefined,
    details: {},
  })
}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return undefined
  }
}

function toCallError(response: Response, value: JsonValue | undefined): CallError {
  const error = isJsonObject(value) ? member(value, 'error') : undefined
  const [code, message, details] = isJsonObject(error)
    ? [member(error, 'code'), member(error, 'message'), member(error, 'details')]
    : []
  const retryAfter = Number(response.headers.get('Retry-After') ?? '')
  return new CallError({
    message: typeof message === 'string' ? message : `The response (status ${response.status}) cannot be used.`,
    status: response.status,
    code: typeof code === 'string' ? code : 'unexpected_response',
    requestId: response.headers.get(REQUEST_ID_HEADER) ?? undefined,
    retryAfterSeconds: Number.isFinite(retryAfter) && retryAfter > 0 ? retryAfter : undefined,
    details: isJsonObject(details) ? details : {},
  })
}
