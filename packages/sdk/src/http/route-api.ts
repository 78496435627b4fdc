import { DRY_RUN_SURFACE, sovereign } from '@chancery/contract'
import type { AnswerOf, PreviewOf, QueryOf, Route, SentOf, members } from '@chancery/contract'
import type { JsonObject, Read, ReadBy } from '@chancery/protocol'
import { ResponseError, UsageError } from '../errors.ts'
import type { Call, CallOptions, Connection, WriteOptions } from './call.ts'
import { json, omitUndefined } from './read-response.ts'
import type { Query } from './url.ts'

const { metadata } = sovereign

/** The number, and some of them by name. */
export type CountedSample = ReadBy<typeof members.countedSample>

/** The authority does not report support for dry runs, so none was sent: it might have executed the change. */
export class DryRunUnsupportedError extends UsageError {
  override readonly name: string = 'DryRunUnsupportedError'

  constructor() {
    super('This authority does not say that it knows dry runs, so none was sent')
  }
}

/**
 * Sends a dry run only to an authority that reports support for it (protocol/core 11.6). Another authority would ignore
 * the member and carry out the revocation. Checked each time, because an authority may be replaced.
 */
async function preview<Answer>(connection: Connection, call: Call<Answer>): Promise<Answer> {
  const read = json((value) => metadata.answer(value, ''))
  const { supported_surfaces: surfaces } = await connection.call({ route: metadata, read, options: call.options })
  if (!Object.hasOwn(surfaces, DRY_RUN_SURFACE)) throw new DryRunUnsupportedError()
  try {
    return await connection.call(call)
  } catch (error) {
    if (!(error instanceof ResponseError)) throw error
    const { status, requestId } = error
    const problem = `${error.problem}. It is no answer to a dry run, so the withdrawal may have been carried out`
    throw new ResponseError({ status, problem, requestId })
  }
}

type ParamNames<Path> = Path extends `${string}{${string}}${infer Rest}` ? [param: string, ...ParamNames<Rest>] : []
/** A body or query that may be left out has no required member. */
type Given<Sent> = [Sent] extends [never]
  ? []
  : [keyof Sent] extends [never]
    ? []
    : Partial<Sent> extends Sent
      ? [given?: Sent]
      : [given: Sent]
type Input<R> = [SentOf<R>] extends [never] ? Given<QueryOf<R>> : Given<SentOf<R>>
/** For a route that shows more to an operator. */
export interface ReadOptions extends CallOptions {
  readonly asOperator?: true
}
type Options<R> = R extends { readonly repeatable: true }
  ? WriteOptions
  : R extends { readonly access: 'public-or-operator:standard' }
    ? ReadOptions
    : CallOptions
type Params<R extends Route> = ParamNames<R['path']>

/** A method for a route: its path parameters in order, then its body or query, then options. */
export type Method<R extends Route> = R extends { readonly preview: Read<unknown> }
  ? {
      (
        ...input: [...Params<R>, body: SentOf<R> & { readonly dry_run: true }, options?: Options<R>]
      ): Promise<PreviewOf<R>>
      (
        ...input: [...Params<R>, ...Given<SentOf<R> & { readonly dry_run?: false }>, options?: Options<R>]
      ): Promise<AnswerOf<R>>
    }
  : (...input: [...Params<R>, ...Input<R>, options?: Options<R>]) => Promise<AnswerOf<R>>

type Table = Readonly<Record<string, Route>>

/** The methods of an area: one for each route whose answer has a form. The others are written by hand. */
export type RouteApi<Routes extends Table> = {
  readonly [Name in keyof Routes as Routes[Name] extends { readonly answer: Read<unknown> } ? Name : never]: Method<
    Routes[Name]
  >
}

/** One method for each route of a feature, with the names of the contract. */
export function routeApi<Routes extends Table>(table: Routes, connection: Connection): RouteApi<Routes> {
  const methods = Object.entries(table).flatMap(([name, route]) => {
    const { answer } = route
    return answer === undefined ? [] : [[name, methodOf(route, answer, connection)] as const]
  })
  // The type of Object.fromEntries has no names; the names are those of the table.
  return Object.fromEntries(methods) as RouteApi<Routes>
}

function toParam(given: unknown): string {
  return typeof given === 'number' ? String(given) : (given as string)
}

function methodOf(route: Route, answer: Read<unknown>, connection: Connection) {
  const hasBody = route.body !== undefined
  const names = route.body?.names ?? Object.keys(route.query ?? {})
  const hasInput = names.length > 0
  const count = route.params.length
  return async (...given: readonly unknown[]): Promise<unknown> => {
    const sent = (hasInput ? (given[count] ?? {}) : {}) as JsonObject
    const input = omitUndefined(sent)
    const options = given[count + (hasInput ? 1 : 0)] as (WriteOptions & ReadOptions) | undefined
    const idempotencyKey = route.repeatable === true ? options?.idempotencyKey : undefined
    const { preview: form } = route
    // It would be left out, and what it limits would not be limited.
    const unsaid = form === undefined ? undefined : Object.keys(sent).find((name) => sent[name] === undefined)
    if (unsaid !== undefined) throw new UsageError(`${unsaid} is undefined`)
    // A name of an earlier release. An authority that ignores it would carry out the change.
    if (form !== undefined && 'dryRun' in input) throw new UsageError('the member is dry_run, not dryRun')
    const call: Call<unknown> = {
      route,
      params: Object.fromEntries(route.params.map((name, index) => [name, toParam(given[index])])),
      ...(hasBody ? { body: input } : { query: input as Query }),
      ...(options?.asOperator === true ? { asOperator: true } : {}),
      idempotencyKey,
      repeatable: route.idempotent === true || idempotencyKey !== undefined,
      read: json((value) => answer(value, '')),
      options,
    }
    if (form === undefined || input['dry_run'] !== true) return connection.call(call)
    return preview(connection, { ...call, repeatable: true, read: json((value) => form(value, '')) })
  }
}
