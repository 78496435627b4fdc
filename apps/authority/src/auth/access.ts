import {
  Refusal,
  approvals,
  boundary,
  crl,
  evidence,
  evidenceLog,
  health,
  limiterOfRoute,
  partners,
  policy,
  queryNames,
  revocationFeeds,
  sovereign,
} from '@chancery/contract'
import type { Access, Route } from '@chancery/contract'
import { HttpResponse, LimiterUnavailableError, readRecordTexts } from '@chancery/service-kit'
import type { Binding, Call, Guard, HandlerResult, MaybePromise, Query } from '@chancery/service-kit'
import { type AccessParts, type KeyLimit, countByKey } from './callers.ts'
import { authenticateOperator, hasOperatorHeaders, refuseThrottledAddress, screenOperator } from './operator.ts'
import type { OperatorCall } from './operator.ts'
import type { Tier } from './operator-keys.ts'

const MAX_NAMED = 64
const MAX_LENGTH = 100

/** The query names that a route takes, or undefined when it ignores others. */
function parametersOf(route: Route): readonly string[] | undefined {
  const { method, errors } = route
  return method === 'GET' && errors?.includes('unexpected_field') === true ? queryNames(route) : undefined
}

/** The names of a query that a route does not take, sorted, as a response may name them. */
function unknownParameters(query: Query, known: readonly string[]): readonly string[] {
  const unknown = Object.keys(query.toObject()).filter((name) => !known.includes(name))
  return unknown
    .toSorted()
    .slice(0, MAX_NAMED)
    .map((name) => name.slice(0, MAX_LENGTH))
}

/** Names the parameters that a public list did not use, because the caller is an operator (protocol/core 3). */
function namingIgnored(result: HandlerResult, unknown: readonly string[]): HandlerResult {
  if (!(result instanceof HttpResponse)) return result
  const { body, contentType, status, headers } = result
  const ignored = unknown.map((name) => encodeURIComponent(name.toWellFormed())).join(', ')
  return new HttpResponse(body, contentType, status, { ...headers, 'Chancery-Ignored-Parameters': ignored })
}

/** A mistyped filter must not return everything (protocol/trust-operations 6.8). */
function refuseParameters(unknown: readonly string[]): never {
  throw new Refusal(
    'unexpected_field',
    { fields: unknown },
    { message: 'The query has parameters this route does not take. See details.fields.' },
  )
}

/** The call that a handler gets, by the access of its route. A wrong combination does not compile. */
export type CallFor<A extends Access> = A extends 'operator:standard' | 'operator:privileged'
  ? OperatorCall
  : A extends 'public-or-operator:standard'
    ? Call | OperatorCall
    : Call

/** Binds a handler to its route. The access of the route decides which call the handler gets. */
export function bind<R extends Route>(
  route: R,
  handle: (call: CallFor<R['access']>) => MaybePromise<HandlerResult>,
): Binding {
  // authorize() below creates the call for the access of the route, so the handler's narrower type is correct.
  const run = handle as (call: Call) => MaybePromise<HandlerResult>
  const known = parametersOf(route)
  if (known !== undefined)
    return {
      route,
      handle: (call) => {
        const unknown = unknownParameters(call.query, known)
        if (unknown.length === 0) return run(call)
        // An operator signs the parameters as sent, and public lists ignore the unknown ones (protocol/core 3).
        if (route.access === 'public-or-operator:standard' && 'operator' in call)
          return Promise.resolve(run(call)).then((result) => namingIgnored(result, unknown))
        return refuseParameters(unknown)
      },
    }
  // The proof of a node covers its body as sent. Such a handler reads the texts after it has verified the proof.
  if (route.records === undefined || route.access === 'node') return { route, handle: run }
  return { route, handle: (call) => run(Object.assign(call, { body: readRecordTexts(call.body, route) })) }
}

/** Checks who may call, and how often. Both come from the route table only. */
export function guardFor(parts: AccessParts): Guard {
  return {
    limit: (call, route) => refuseNodeDecisions(admit(call, route, parts), route, parts),
    screen: (call, route) => screen(call, route, parts),
    authorize: (call, route) => authorize(call, route, parts),
  }
}

/**
 * Routes that are served whatever the state of the database: health, and published documents that are cached and still
 * valid (reliability 2). requests/published-documents.ts refuses a rolled back database.
 */
export const ALWAYS_SERVED: ReadonlySet<string> = new Set(
  [
    ...Object.values({ ...health, ...sovereign }),
    crl.current,
    crl.delta,
    crl.keys,
    policy.current,
    revocationFeeds.current,
    revocationFeeds.index,
    revocationFeeds.part,
  ].map((route) => route.id),
)

/**
 * A rolled back database lacks revocations and spent nonces, and would accept both again. So all requests are refused
 * until an operator recovers it (reliability 12).
 */
function admit(call: Omit<Call, 'body'>, route: Route, parts: AccessParts): MaybePromise<void> {
  const { rollback } = parts
  if (ALWAYS_SERVED.has(route.id)) return countCall(call, route, parts)
  if (rollback.needsRecheck) return rollback.recheck().then(() => admit(call, route, parts))
  if (rollback.isHalted()) throw new Refusal('service_unavailable', { reason: rollback.reason })
  return countCall(call, route, parts)
}

function countCall(call: Omit<Call, 'body'>, route: Route, parts: AccessParts): MaybePromise<void> {
  const isOperatorCall = route.access === 'public-or-operator:standard' && hasOperatorHeaders(call)
  const name = isOperatorCall ? 'admin' : route.limit
  const facts = limiterOfRoute(name)
  if (facts === undefined || name === 'none') return undefined
  if (name === 'operator_read' || name === 'operator_decision') return countKeyLater(call, parts, name)
  const limit = parts.limits.perMinute[name]
  if (limit === 0) return undefined
  const counter = facts.perRoute ? route.id : name
  const limiter = facts.store === 'process' ? parts.limits.local : parts.limits.shared
  const isWithin = limiter.hit(`${counter} ${call.limitKey}`, limit)
  // Limits of this process are checked synchronously: most calls need not wait here.
  if (isWithin === true && name !== 'admin') return undefined
  return checkCount(call, parts, isWithin, { isAdmin: name === 'admin', hasReserve: route.reserve !== undefined })
}

/** Calls of one address, as a multiple of the limit of a key: several operators may share an address. */
const KEYS_PER_ADDRESS = 10

/**
 * The key is counted after its signature (callers.ts). Before it only the address counts, in this process, and one
 * with too many failures is refused.
 */
function countKeyLater(call: Omit<Call, 'body'>, parts: AccessParts, name: KeyLimit): Promise<void> {
  const { local, perMinute } = parts.limits
  const isWithin = local.hit(`${name} ${call.limitKey}`, perMinute[name] * KEYS_PER_ADDRESS)
  countByKey(call, name)
  return checkCount(call, parts, isWithin, { isAdmin: true, hasReserve: false })
}

async function checkCount(
  call: Omit<Call, 'body'>,
  parts: AccessParts,
  isWithin: MaybePromise<boolean>,
  { isAdmin, hasReserve }: { readonly isAdmin: boolean; readonly hasReserve: boolean },
): Promise<void> {
  try {
    if (!(await isWithin)) {
      // The call uses the reserve of its key after it has proved possession of the key.
      if (!hasReserve) throw new Refusal('rate_limit_exceeded')
      countByKey(call, 'revocation')
    }
    if (isAdmin) await refuseThrottledAddress(call, parts)
  } catch (error) {
    // Never unlimited: a call that cannot be counted is refused.
    if (error instanceof LimiterUnavailableError)
      throw new Refusal('service_unavailable', { reason: 'rate_limiter_unavailable' }, { cause: error })
    throw error
  }
}

/** Counted first, and refused before the body is read: no proof is needed to learn that the route is off. */
function refuseNodeDecisions(counted: MaybePromise<void>, route: Route, { settings }: AccessParts): MaybePromise<void> {
  if (route.id !== boundary.request.id || settings.nodeDecisions !== 'off') return counted
  return Promise.resolve(counted).then(() => {
    throw new Refusal('node_decisions_disabled')
  })
}

const EVIDENCE_ROUTES: ReadonlySet<string> = new Set(
  [evidence, evidenceLog, approvals].flatMap((routes) => Object.values(routes).map((route) => route.id)),
)

const PARTNER_ROUTES: ReadonlySet<string> = new Set(Object.values(partners).map((route) => route.id))

/** Checks that do not need the body: a large body is read only with operator headers. */
function screen(call: Omit<Call, 'body'>, route: Route, parts: AccessParts): MaybePromise<void> {
  refuseDisabled(route, parts)
  const isOperatorRoute = route.access === 'operator:standard' || route.access === 'operator:privileged'
  const isOperatorCall = route.access === 'public-or-operator:standard' && hasOperatorHeaders(call)
  return isOperatorRoute || isOperatorCall ? screenOperator(call, parts).then(() => undefined) : undefined
}

/** No proof is needed to learn that a feature is off (protocol/trust-operations 6.1, protocol/partners 2). */
function refuseDisabled(route: Route, { settings }: AccessParts): void {
  if (!settings.evidenceStore && EVIDENCE_ROUTES.has(route.id)) throw new Refusal('evidence_store_disabled')
  if (!settings.partners && PARTNER_ROUTES.has(route.id)) throw new Refusal('partners_disabled')
}

function authorize(call: Call, route: Route, given: AccessParts): MaybePromise<Call> {
  refuseDisabled(route, given)
  const parts = route.reserve === undefined ? given : { ...given, nonces: given.revocationNonces }
  switch (route.access) {
    case 'operator:standard':
      return authenticateOperator(call, parts, standardOrRaised(route, parts))
    case 'operator:privileged':
      return authenticateOperator(call, parts, isDryRun(call, route) ? 'standard' : 'privileged')
    case 'public-or-operator:standard':
      return hasOperatorHeaders(call) ? authenticateOperator(call, parts, 'standard') : call
    // Nodes and executors prove themselves in the body. Their routes verify it in the order of their own tables.
    case 'node':
    case 'executor':
    case 'public':
    case 'internal':
      return call
  }
}

/** Nothing is changed, so a standard key may see what a privileged one would do. Only the signed `true` counts. */
function isDryRun({ body }: Call, route: Route): boolean {
  return route.dryRun !== undefined && body['dry_run'] === true
}

/** Routes of the standard tier that need a privileged key by NA_PRIVILEGED_ROUTES. */
function standardOrRaised(route: Route, parts: AccessParts): Tier {
  return parts.settings.privilegedRoutes.has(route.id) ? 'privileged' : 'standard'
}
