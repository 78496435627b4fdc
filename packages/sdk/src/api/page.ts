import { shape } from '@chancery/protocol'

/** Which part of a list (protocol/core 24); a cursor replaces an offset. */
export interface PageQuery {
  readonly limit?: number
  readonly offset?: number
  readonly cursor?: string
}

/** Where a list continues. All undefined when the response is complete. */
export interface Paging {
  /** Null above 10000 rows. */
  readonly total: number | null | undefined
  readonly next_offset: number | null | undefined
  readonly next_cursor: string | null | undefined
}

const count = shape.nullable(shape.integer(0, Number.MAX_SAFE_INTEGER))

type Optional<Value> = ReturnType<typeof shape.withDefault<Value | undefined>>

/** The members for the reader of a list. */
export const paging: {
  readonly total: Optional<number | null>
  readonly next_offset: Optional<number | null>
  readonly next_cursor: Optional<string | null>
} = {
  total: shape.withDefault<number | null | undefined>(count, undefined),
  next_offset: shape.withDefault<number | null | undefined>(count, undefined),
  next_cursor: shape.withDefault<string | null | undefined>(shape.nullable(shape.string), undefined),
}
