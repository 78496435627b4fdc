import { type JsonObject, type Read, type ReadBy, shape } from '@chancery/protocol'
import type { RefusalCode } from './refusal.ts'

/** The body of a route. Server, library, OpenAPI document and forms of the console derive from it. */
export interface BodyForm<Value = unknown, Sent = unknown> {
  readonly names: readonly string[]
  readonly read: Read<Value>
  /** For a malformed member. */
  readonly code: RefusalCode
  /** What an example shows besides the required members. */
  readonly example: JsonObject
  /** Only a type: members with a default may be left out. */
  readonly sent?: Sent
}

type FormOf<Shape extends shape.Members> = BodyForm<shape.ValueOf<Shape>, shape.SentOf<Shape>>

/** A body whose other members are refused with unexpected_field. */
export function body<const Shape extends shape.Members>(
  code: RefusalCode,
  members: Shape,
  example: JsonObject = {},
): FormOf<Shape> {
  return { names: Object.keys(members), read: shape.closed(members), code, example }
}

/** A body whose other members are ignored, as the protocol asks for these routes. */
export function openBody<const Shape extends shape.Members>(
  code: RefusalCode,
  members: Shape,
  example: JsonObject = {},
): FormOf<Shape> {
  return { names: Object.keys(members), read: shape.open(members), code, example }
}

/** The parameters of a query. Each may be left out. */
export type QueryForm = Readonly<Record<string, Read<string | number>>>

type Flat<Value> = Value extends readonly unknown[] ? Value : { readonly [Name in keyof Value]: Value[Name] }

/** What the server reads. */
export type BodyOf<R> = R extends { readonly body: BodyForm<infer Value> } ? Flat<Value> : never

/** What a client sends. */
export type SentOf<R> = R extends { readonly body: BodyForm<unknown, infer Sent> } ? Flat<Sent> : never

export type AnswerOf<R> = R extends { readonly answer: Read<infer Value> } ? Flat<Value> : never

/** The answer to a dry run. */
export type PreviewOf<R> = R extends { readonly preview: Read<infer Value> } ? Flat<Value> : never

export type QueryOf<R> = R extends { readonly query: infer Form extends QueryForm }
  ? { readonly [Name in keyof Form]?: ReadBy<Form[Name]> }
  : never
