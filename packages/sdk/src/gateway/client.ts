import { GATEWAY_ROUTES, type GatewayRouteName } from '@chancery/contract'
import { FormError, shape } from '@chancery/protocol'
import type { JoinCertificate, JsonObject, JsonValue, TrustDecision } from '@chancery/protocol'
import { bytes, json, text } from '../http/read-response.ts'
import { type CallOptions, type CallRoute, type ConnectionOptions, makeCaller, toCallerParts } from '../http/call.ts'
import type { Client } from '../client.ts'
import { RequestError } from '../errors.ts'
import { type AuthorityOptions, type TokenSource, asAuthority, bearerHeader } from './as-authority.ts'
import { type ForwardedCall, type OperationId, openOperation, operationRoute } from './open-operation.ts'
import { type TrustVerdict, toVerdict } from './verdict.ts'

export interface GatewayOptions extends ConnectionOptions {
  /** The bearer credential, or a function that returns the current one. Public routes work without it. */
  readonly token?: TokenSource
  /** Maximum certificates per request of this gateway; 128 when not given. */
  readonly maxBatch?: number
}

/** GET /api (protocol/gateway 11). */
export type GatewayDescription = {
  readonly service: string
  readonly version: string
  readonly mode: string
  readonly security_capabilities: Readonly<Record<string, boolean>>
  readonly endpoints: readonly string[]
  readonly authority_service_route: string
  readonly service_catalog: string
}

/** GET /v1/networks: the networks visible to the caller. Members of a network may be added within a version. */
export type GatewayNetworks = {
  readonly policy_revision: string | undefined
  readonly client_id: string | undefined
  readonly networks: readonly (JsonObject & { readonly name: string; readonly ready: boolean })[]
}

/** One method for each route of a gateway. */
export interface GatewayClient {
  health(options?: CallOptions): Promise<{ readonly status: string }>
  /** Returns when ready, or throws RefusedError with the checks as details. Sent once, without retries. */
  ready(options?: CallOptions): Promise<{ readonly status: string }>
  api(options?: CallOptions): Promise<GatewayDescription>
  networks(options?: CallOptions): Promise<GatewayNetworks>
  /** What the audit stored of one request of this caller, by the id of its answer (protocol/gateway 16.6). */
  auditEvents(requestId: string, options?: CallOptions): Promise<JsonObject>
  metrics(options?: CallOptions): Promise<string>
  /** The operations that it forwards. A newer gateway may have more than this library. */
  services(options?: CallOptions): Promise<readonly (JsonObject & { readonly id: string })[]>
  openapi(options?: CallOptions): Promise<JsonObject>
  /** Published networks with their treaties and members (protocol/gateway 14.1). */
  mesh(options?: CallOptions): Promise<JsonObject>
  /** Returns the HTML page. */
  home(options?: CallOptions): Promise<string>
  /** Returns a file of that page, by its name. */
  asset(file: string, options?: CallOptions): Promise<Uint8Array>
  /** Calls one operation that needs no signature, by its id; signed ones go through {@link asAuthority}. */
  call(network: string, operation: OperationId, request?: ForwardedCall, options?: CallOptions): Promise<JsonValue>
  /** The API groups of one authority; every call goes through this gateway and is signed for the authority. */
  asAuthority(network: string, options?: AuthorityOptions): Client
  /** Asks one AuthZEN question. Only `decision: true` permits; the signed decision is in `context.chancery`. */
  accessEvaluation(question: JsonObject, options?: CallOptions): Promise<JsonObject>
  /** Asks several AuthZEN questions. */
  accessEvaluations(questions: JsonObject, options?: CallOptions): Promise<JsonObject>
  /** The AuthZEN metadata of the decision point. */
  authzenConfiguration(options?: CallOptions): Promise<JsonObject>
  /** Verifies one certificate. Check `trusted`, or call `assertTrusted()`. */
  verify(certificate: JoinCertificate, options?: CallOptions): Promise<TrustVerdict>
  /** Verifies many, in as many requests as the gateway needs; results are in the order of the certificates. */
  verifyBatch(certificates: readonly JoinCertificate[], options?: CallOptions): Promise<readonly TrustVerdict[]>
}

const USUAL_BATCH = 128

const word = shape.required(shape.string)
const flag = shape.required(shape.boolean)
const orNull = shape.required(shape.nullable(shape.string))
const words = shape.required(shape.arrayOf(shape.string, { max: 10_000 }))

const readStatus = shape.open({ status: word })
const readDescription = shape.open({
  service: word,
  version: word,
  mode: word,
  security_capabilities: shape.required(shape.mapOf(shape.boolean)),
  endpoints: words,
  authority_service_route: word,
  service_catalog: word,
})
const optionalWord = shape.withDefault<string | undefined>(shape.string, undefined)
const readNetworks = shape.open({
  policy_revision: optionalWord,
  client_id: optionalWord,
  networks: shape.required(shape.arrayOf(readNetwork, { max: 10_000 })),
})
const readDecision = shape.open({
  trusted: flag,
  reasons: words,
  findings: shape.required(
    shape.arrayOf((value: JsonValue, place: string) => shape.object(value, place), { max: 100 }),
  ),
  evaluation: shape.required(
    shape.open({
      evaluated_at: word,
      policy_revision: orNull,
      network: word,
      issuer: orNull,
      crl_sequence: shape.required(shape.nullable(shape.integer(0, Number.MAX_SAFE_INTEGER))),
      crl_next_update: orNull,
      recheck_after: orNull,
    }),
  ),
})

/** Creates a client of one gateway. It opens no connection until a method is used. */
// oxlint-disable-next-line max-lines-per-function -- one member per call
export function createGatewayClient(options: GatewayOptions): GatewayClient {
  const { token, maxBatch = USUAL_BATCH } = options
  const call = makeCaller({
    ...toCallerParts(options),
    sign: undefined,
    headers: async () => (token === undefined ? {} : bearerHeader(token)),
  })
  const batch = (certificates: readonly JoinCertificate[], more?: CallOptions): Promise<readonly TrustVerdict[]> =>
    call({
      route: gatewayRoute('verifyBatch'),
      body: { certificates: certificates as unknown as JsonValue },
      repeatable: true,
      read: json((value) => readBatch(value, certificates.length)),
      options: more,
    })
  const ask = (route: GatewayRouteName, body: JsonObject, more?: CallOptions): Promise<JsonObject> =>
    call({ route: gatewayRoute(route), body, read: json((v) => shape.object(v, '')), options: more })
  return {
    health: (more) => call({ route: gatewayRoute('health'), read: json((v) => readStatus(v, '')), options: more }),
    ready: (more) =>
      call({ route: gatewayRoute('ready'), read: json((v) => readStatus(v, '')), retry: 'never', options: more }),
    api: (more) => call({ route: gatewayRoute('api'), read: json((v) => readDescription(v, '')), options: more }),
    networks: (more) =>
      call({ route: gatewayRoute('networks'), read: json((v) => readNetworks(v, '')), options: more }),
    auditEvents: (request_id, more) =>
      call({
        route: { ...gatewayRoute('auditEvents'), params: ['request_id'] },
        params: { request_id },
        read: json((v) => shape.object(v, '')),
        options: more,
      }),
    metrics: (more) => call({ route: gatewayRoute('metrics', 'prometheus'), read: text, options: more }),
    services: (more) =>
      call({ route: gatewayRoute('services'), read: json((v) => readServices(v, '').operations), options: more }),
    openapi: (more) => call({ route: gatewayRoute('openapi'), read: json((v) => shape.object(v, '')), options: more }),
    mesh: (more) => call({ route: gatewayRoute('mesh'), read: json((v) => shape.object(v, '')), options: more }),
    home: (more) => call({ route: gatewayRoute('home', 'html'), read: text, options: more }),
    asset: (file, more) =>
      call({
        route: { ...gatewayRoute('asset', 'static'), params: ['file'] },
        params: { file },
        read: bytes,
        options: more,
      }),
    call: async (network, operation, { parameters, body } = {}, more) => {
      const found = openOperation(operation)
      return call({
        route: operationRoute(found),
        params: { network },
        ...(parameters === undefined ? {} : { query: parameters }),
        ...(found.method === 'GET' ? {} : { body: body ?? {} }),
        repeatable: found.idempotent,
        read: json((value) => value),
        options: more,
      })
    },
    asAuthority: (network, more) => {
      if (token === undefined) throw new RequestError('a gateway forwards only for a bearer credential')
      const own = { ...inherited(options), ...more }
      return asAuthority(
        { url: options.url, token, ...(options.fetch === undefined ? {} : { fetch: options.fetch }) },
        network,
        own,
      )
    },
    accessEvaluation: (body, more) => ask('accessEvaluation', body, more),
    accessEvaluations: (body, more) => ask('accessEvaluations', body, more),
    authzenConfiguration: (more) =>
      call({ route: gatewayRoute('authzenConfiguration'), read: json((v) => shape.object(v, '')), options: more }),
    verify: (certificate, more) =>
      call({
        route: gatewayRoute('verify'),
        body: { certificate: certificate as unknown as JsonValue },
        repeatable: true,
        read: json((value) => readVerdict(value, '')),
        options: more,
      }),
    verifyBatch: async (certificates, more) => {
      const verdicts: TrustVerdict[] = []
      for (let at = 0; at < certificates.length; at += maxBatch)
        verdicts.push(...(await batch(certificates.slice(at, at + maxBatch), more)))
      return verdicts
    },
  }
}

const readServices = shape.open({
  operations: shape.required(
    shape.arrayOf(
      (value: JsonValue, place: string) => ({
        ...shape.object(value, place),
        ...shape.open({ id: word })(value, place),
      }),
      { max: 10_000 },
    ),
  ),
})

/** Timeouts and retries of this client, unless the caller gives others. */
function inherited({ clock, timeoutMs, budgetMs, maxResponseBytes, retry }: GatewayOptions): AuthorityOptions {
  return {
    ...(clock === undefined ? {} : { clock }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(budgetMs === undefined ? {} : { budgetMs }),
    ...(maxResponseBytes === undefined ? {} : { maxResponseBytes }),
    ...(retry === undefined ? {} : { retry }),
  }
}

function gatewayRoute(name: GatewayRouteName, answer: CallRoute['response'] = 'json'): CallRoute {
  const { method, path } = GATEWAY_ROUTES[name]
  return { id: `${method} ${path}` as CallRoute['id'], method, path, params: [], access: 'public', response: answer }
}

function readVerdict(value: JsonValue, place: string): TrustVerdict {
  // Codes of findings are not restricted: a newer gateway may have more, and only `trusted` decides.
  const decision = readDecision(value, place) as unknown as TrustDecision
  if (decision.trusted !== (decision.reasons.length === 0)) throw new FormError(place, 'trust and reasons disagree')
  return toVerdict(decision)
}

function readBatch(value: JsonValue, count: number): readonly TrustVerdict[] {
  const { results } = shape.open({
    results: shape.required(shape.arrayOf(readVerdict, { max: count })),
  })(value, '')
  if (results.length !== count) throw new FormError('results', 'one for each certificate is needed')
  return results
}

function readNetwork(value: JsonValue, place: string): JsonObject & { readonly name: string; readonly ready: boolean } {
  const facts = shape.open({ name: word, ready: flag })(value, place)
  return { ...shape.object(value, place), ...facts }
}
