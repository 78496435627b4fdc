import { type JsonObject, type JsonValue, shape } from '@chancery/protocol'

type SimulatedVerdict = { readonly authorized: boolean; readonly denial_reason: string | null }

export type PolicySimulation = {
  readonly policy_id: string
  readonly version: number
  readonly active_set_healthy: boolean
  readonly candidate_set_healthy: boolean
  readonly total: number
  readonly unchanged: number
  readonly newly_allowed: number
  readonly newly_denied: number
  /** Requests for which an external fact is not known. The gate that asks for it denies them. */
  readonly external_facts_missing: number
  readonly first_sequence: number | null
  /** Where a range of stored decisions ended; continue from here. */
  readonly last_sequence: number | null
  /** Where the sample continues; null when it is complete, or the authority cannot continue it. */
  readonly next_sample_cursor: string | null
  /** Some of the changes, by the index of the request. */
  readonly sample: readonly {
    readonly index: number
    readonly store_sequence: number | null
    readonly change: string
    readonly active: SimulatedVerdict
    readonly candidate: SimulatedVerdict
  }[]
}

/** Requests to simulate, and the part of the changed results to return. */
export type SimulationRequest = {
  readonly intent: JsonObject
  /** 1 to 200; 20 when absent. */
  readonly sample_limit?: number
  /** `next_sample_cursor` of the page before. */
  readonly sample_cursor?: string
} & (
  | { readonly contexts: readonly JsonObject[] }
  | { readonly decisions: { readonly after_sequence?: number; readonly limit?: number } | { readonly newest: number } }
)

const word = shape.required(shape.string)
const flag = shape.required(shape.boolean)
const whole = shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER))
const wordOrNull = shape.withDefault(shape.nullable(shape.string), null)
const wholeOrNull = shape.withDefault(shape.nullable(shape.integer(0, Number.MAX_SAFE_INTEGER)), null)
const readSimulated = shape.open({ authorized: flag, denial_reason: wordOrNull })
export const readSimulation: (value: JsonValue, field: string) => PolicySimulation = shape.open({
  policy_id: word,
  version: whole,
  active_set_healthy: flag,
  candidate_set_healthy: flag,
  total: whole,
  unchanged: whole,
  newly_allowed: whole,
  newly_denied: whole,
  external_facts_missing: shape.withDefault(shape.integer(0, Number.MAX_SAFE_INTEGER), 0),
  first_sequence: wholeOrNull,
  last_sequence: wholeOrNull,
  next_sample_cursor: wordOrNull,
  sample: shape.required(
    shape.arrayOf(
      shape.open({
        index: whole,
        store_sequence: wholeOrNull,
        change: word,
        active: shape.required(readSimulated),
        candidate: shape.required(readSimulated),
      }),
      { max: 1000 },
    ),
  ),
})
