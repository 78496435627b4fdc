import { GATEWAY_ROUTES, type GatewayRouteName } from '@chancery/contract'
import { FormError, shape } from '@chancery/protocol'
import type { JoinCertificate, JsonObject, JsonValue, TrustDecision } from '@chancery/protocol'
import { type CallRoute, type Caller, type ConnectionOptions, makeCaller, toCallerParts } from '../http/call.ts'
import { json } from '../http/read-response.ts'
import { RefusedError, UsageError } from '../errors.ts'
import type { Answer } from '../node/answer.ts'
import type { AskOptions, Decider } from '../node/decider.ts'
import { type CertificateTrust, type CertificateVerdict, toVerdict } from '../trust/certificate-verdict.ts'
import type { NetworkIdentity } from '../trust/identity.ts'
import type { Time } from '../trust/signing-time.ts'
import { authzenOver } from './authzen.ts'
import type { AuthzenClient } from './authzen-forms.ts'
import { type TokenSource, bearerHeader } from './bearer.ts'

export interface GatewayOptions extends ConnectionOptions {
  /** The bearer credential, or a function that returns the current one. */
  readonly token: TokenSource
  /** With it decisions are verified; without it `verified` is false. */
  readonly trust?: NetworkIdentity | readonly NetworkIdentity[]
}

/** A gateway: it verifies certificates, and with AuthZEN it gives decisions. */
export interface GatewayClient extends CertificateTrust, Decider {
  /** A gateway evaluates at its own time, so `at` is not sent. */
  evaluate(certificate: JoinCertificate, at?: Time): Promise<CertificateVerdict>
  /** In as many requests as the gateway needs; in the order of the certificates. */
  evaluateAll(certificates: readonly JoinCertificate[]): Promise<readonly CertificateVerdict[]>
  /** Needs `trust`. Policies find the parameters in `request_parameters.action.properties`. */
  ask(capability: string, options?: AskOptions): Promise<Answer>
  readonly authzen: AuthzenClient
  /** Sent once, without retries. A gateway that is not ready is an answer. */
  ready(): Promise<{ readonly ready: boolean; readonly checks: Readonly<Record<string, string>> }>
  /** The networks that this client may use. */
  networks(): Promise<readonly (JsonObject & { readonly name: string; readonly ready: boolean })[]>
}

const MOST_AT_ONCE = 128

/** Creates a client of one gateway. It opens no connection until a method is used. */
export function createGatewayClient(options: GatewayOptions): GatewayClient {
  const call = makeCaller({
    ...toCallerParts(options),
    sign: undefined,
    headers: () => bearerHeader(options.token),
  })
  const authzen = authzenOver(call, options)
  const batch = (certificates: readonly JoinCertificate[]): Promise<readonly CertificateVerdict[]> =>
    call({
      route: gatewayRoute('verifyBatch'),
      body: { certificates: certificates as unknown as JsonValue },
      repeatable: true,
      read: json((value) => readBatch(value, certificates)),
    })
  return {
    // A gateway has one time, its own: an authorizer passes the time of the request, which is now.
    evaluate: (certificate) =>
      call({
        route: gatewayRoute('verify'),
        body: { certificate: certificate as unknown as JsonValue },
        repeatable: true,
        read: json((value) => toVerdict(readDecision(value, ''), certificate)),
      }),
    evaluateAll: async (certificates) => {
      const verdicts: CertificateVerdict[] = []
      for (let at = 0; at < certificates.length; at += MOST_AT_ONCE)
        verdicts.push(...(await batch(certificates.slice(at, at + MOST_AT_ONCE))))
      return verdicts
    },
    ask: async (capability, more = {}) => {
      if (options.trust === undefined) throw new UsageError('ask() needs trust: createGatewayClient({ trust })')
      const { askGateway } = await import('./verify-answer.ts')
      return askGateway(call, options, { capability, more })
    },
    authzen,
    ready: () => askReady(call),
    networks: () => call({ route: gatewayRoute('networks'), read: json((value) => readNetworks(value, '').networks) }),
  }
}

async function askReady(call: Caller): ReturnType<GatewayClient['ready']> {
  try {
    const read = json((value) => readStatus(value, ''))
    return { ready: true, checks: await call({ route: gatewayRoute('ready'), read, retry: 'never' }) }
  } catch (error) {
    if (!(error instanceof RefusedError) || error.code !== 'not_ready') throw error
    return { ready: false, checks: textsOf(error.details) }
  }
}

function textsOf(details: object): Readonly<Record<string, string>> {
  const entries = Object.entries(details).map(([name, value]): readonly [string, string] => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  return Object.fromEntries(entries)
}

export function gatewayRoute(name: GatewayRouteName): CallRoute {
  const { method, path } = GATEWAY_ROUTES[name]
  return { id: `${method} ${path}` as CallRoute['id'], method, path, params: [], access: 'public', response: 'json' }
}

const word = shape.required(shape.string)
const flag = shape.required(shape.boolean)
const orNull = shape.required(shape.nullable(shape.string))

const readStatus = shape.open({ status: word })
const readNetworks = shape.open({
  networks: shape.required(shape.arrayOf(readNetwork, { max: 10_000 })),
})
const readTrustDecision = shape.open({
  trusted: flag,
  reasons: shape.required(shape.arrayOf(shape.string, { max: 10_000 })),
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

/** With its further members: they may be added within a version. */
function readNetwork(value: JsonValue, place: string): JsonObject & { readonly name: string; readonly ready: boolean } {
  return { ...shape.object(value, place), ...shape.open({ name: word, ready: flag })(value, place) }
}

function readDecision(value: JsonValue, place: string): TrustDecision {
  // Codes of findings are not restricted: a newer gateway may have more, and only `trusted` decides.
  const decision = readTrustDecision(value, place) as unknown as TrustDecision
  if (decision.trusted !== (decision.reasons.length === 0)) throw new FormError(place, 'trust and reasons disagree')
  return decision
}

function readBatch(value: JsonValue, asked: readonly JoinCertificate[]): readonly CertificateVerdict[] {
  const { results } = shape.open({
    results: shape.required(shape.arrayOf(readDecision, { max: asked.length })),
  })(value, '')
  if (results.length !== asked.length) throw new FormError('results', 'one for each certificate is needed')
  return results.map((decision, index) => toVerdict(decision, asked[index]))
}
