import type { Read } from '@chancery/protocol'
import type { ErrorCode } from './errors.ts'
import type { BodyForm, QueryForm } from './form.ts'
import type { RefusalCode } from './refusal.ts'

export type Method = 'GET' | 'POST' | 'DELETE'

/** Who may call. 'public-or-operator:standard' routes are public and return more to a verified operator. */
export type Access =
  | 'public'
  | 'internal'
  | 'node'
  | 'executor'
  | 'operator:standard'
  | 'operator:privileged'
  | 'public-or-operator:standard'

/** The counter of a call, see limits.ts. Every route names one, so that 'none' is always an explicit choice. */
export type Limit =
  | 'none'
  | 'admin'
  | 'operator_read'
  | 'operator_decision'
  | 'verify'
  | 'evidence'
  | 'read'
  | 'join'
  | 'discover'
  | 'node'
  | 'approval'
  | 'decision-address'
  | 'public'

export type Stability = 'stable' | 'beta' | 'internal'

export type ResponseKind = 'json' | 'html' | 'prometheus' | 'static' | 'json-lines' | 'note' | 'tile' | 'receipt'

export type GatewayGroup =
  | 'administration'
  | 'agreement'
  | 'attestations'
  | 'boundary'
  | 'boundary_policy'
  | 'consensus'
  | 'data_usage'
  | 'disclosure'
  | 'discovery'
  | 'enrollment'
  | 'evidence'
  | 'evidence_store'
  | 'network'
  | 'partners'
  | 'treaties'

/** Under which name the gateway forwards a route. A route without it cannot be reached through the gateway. */
export interface GatewayFacts {
  readonly operation: string
  readonly group: GatewayGroup
  /** Query names the gateway forwards, in name order; every other name is refused. Path parameters are not repeated. */
  readonly query?: readonly string[]
  /** Release that brought the operation; absent for the 59 of the first catalogue. */
  readonly since?: string
  /** The gateway asks for operator headers although the authority also answers without them. */
  readonly signed?: true
  /** Where an answer may be larger than usual. */
  readonly maxResponseBytes?: number
}

export interface RouteFacts {
  readonly access: Access
  readonly limit: Limit
  readonly stability: Stability
  readonly success: 200 | 201
  readonly response: ResponseKind
  /** Short title, at most 60 characters. */
  readonly summary: string
  /** One plain sentence for the reference pages. */
  readonly purpose: string
  /** The codes this route can answer, besides those that follow from its access, limit and body. */
  readonly errors?: readonly ErrorCode[]
  /** The query the route reads; absent where its names are those of `gateway.query`. */
  readonly query?: QueryForm
  /** The route takes an Idempotency-Key. */
  readonly repeatable?: true
  /** Absent for routes that read none. */
  readonly body?: BodyForm
  /** Also answers as an event stream, to a caller whose Accept names text/event-stream. */
  readonly stream?: true
  /** Answer of success. Absent: any object. */
  readonly answer?: Read<unknown>
  /** Answer to a body with `dry_run: true`. */
  readonly preview?: Read<unknown>
  /** A second call ends in the same state, so that a client may repeat it. */
  readonly idempotent?: true
  /** Where this route answers a code with another status than the usual one of errors.ts. */
  readonly statuses?: Partial<Readonly<Record<ErrorCode, number>>>
  /** An empty body is invalid_json here; elsewhere it counts as {} (protocol/core 1.1 rule 10). */
  readonly emptyBody?: 'refused'
  /**
   * node, small: 64 KiB, from unauthenticated callers; decision: 128 KiB; feed: four times the normal limit
   * (protocol/core 3).
   */
  readonly bodyLimit?: 'node' | 'small' | 'decision' | 'feed'
  /** large, feed: lists of tens of thousands of ids are normal here, so more values and names are read. */
  readonly readLimit?: 'large' | 'feed'
  /**
   * Members that are signed records, with the code for a malformed one. Each is also accepted as its JSON text under its
   * name and `_text`, because a client whose JSON library reads 100.0 as 100 cannot send the record unchanged. A member
   * of a member has a point in its name.
   */
  readonly records?: Readonly<Record<string, RefusalCode>>
  /** A revocation. When the admin limit is used up, it counts against the limiter `revocation`, see limits.ts. */
  readonly reserve?: 'revocation'
  /** With `dry_run: true` an operator of the standard tier may call this privileged route. */
  readonly dryRun?: 'operator:standard'
  /** The last path parameter takes everything that is left, slashes included. */
  readonly tail?: true
  /** Seconds for a handler that reads from other services; see SERVER_LIMITS for the usual ones. */
  readonly deadlineSeconds?: number
  readonly gateway?: GatewayFacts
}

export type RouteId = `${Method} /${string}`

export type MethodOf<Id extends RouteId> = Id extends `${infer M extends Method} /${string}` ? M : never

export type PathOf<Id extends RouteId> = Id extends `${Method} ${infer Path}` ? Path : never

/** The names between braces, so that a handler can only ask for parameters its path really has. */
export type ParamOf<Path extends string> = string extends Path
  ? string
  : Path extends `${string}{${infer Name}}${infer Rest}`
    ? Name | ParamOf<Rest>
    : never

/** Facts from the id alone. */
export interface RouteAddress<Id extends RouteId = RouteId> {
  readonly id: Id
  readonly method: MethodOf<Id>
  readonly path: PathOf<Id>
  readonly params: readonly ParamOf<PathOf<Id>>[]
}

/** Any route, for code that walks the table. Method and path keep their literals in the feature objects. */
export type Route = RouteFacts & {
  readonly id: RouteId
  readonly method: Method
  readonly path: string
  readonly params: readonly string[]
}

/** One line of a feature table: the id and the facts. */
export type RouteEntry = RouteFacts & { readonly id: RouteId }

/** The routes of one feature, each with its own literal facts: the server types its handlers from `access`. */
export type Routes<Entries extends Readonly<Record<string, RouteEntry>>> = {
  readonly [Name in keyof Entries]: Entries[Name] & RouteAddress<Entries[Name]['id']>
}

type DeclaredOnly<Given, Known> = { readonly [Name in Exclude<keyof Given, keyof Known>]: never }

/** Refuses facts, codes and gateway members that do not exist: misspelt ones would be ignored in silence. */
type DeclaredFactsOnly<Entries> = {
  readonly [Name in keyof Entries]: DeclaredOnly<Entries[Name], RouteEntry> &
    (Entries[Name] extends { readonly statuses: infer Given }
      ? { readonly statuses: DeclaredOnly<Given, Record<ErrorCode, number>> }
      : unknown) &
    (Entries[Name] extends { readonly gateway: infer Given }
      ? { readonly gateway: DeclaredOnly<Given, GatewayFacts> }
      : unknown)
}

/** One route with method, path and parameter names read from its id. */
export function route<const Id extends RouteId, const Facts extends RouteFacts>(
  id: Id,
  facts: Facts,
): Facts & RouteAddress<Id> {
  const gap = id.indexOf(' ')
  const path = id.slice(gap + 1)
  const params = [...path.matchAll(/\{([a-z_]+)\}/g)].map((match) => match[1])
  const address = { id, method: id.slice(0, gap), path, params }
  // The compiler cannot follow a split at run time; RouteAddress states the same split in types.
  return { ...facts, ...(address as unknown as RouteAddress<Id>) }
}

/**
 * The routes of one feature. Feature files write their facts as a constant first and then call this with an explicit
 * type, because exported constants whose type comes from a call are refused under isolated declarations.
 */
export function routes<const Entries extends Readonly<Record<string, RouteEntry>>>(
  entries: Entries & DeclaredFactsOnly<Entries>,
): Routes<Entries> {
  const built = Object.entries<RouteEntry>(entries).map(([name, { id, ...facts }]) => [name, route(id, facts)])
  // The type of Object.fromEntries has no names; the names and facts are those of `entries`.
  return Object.fromEntries(built) as Routes<Entries>
}

/** The names of the parameters that a route takes. */
export function queryNames({ query, gateway }: Pick<RouteFacts, 'query' | 'gateway'>): readonly string[] {
  return query === undefined ? (gateway?.query ?? []) : Object.keys(query)
}
