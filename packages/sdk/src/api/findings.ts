import { findings } from '@chancery/contract'
import { shape } from '@chancery/protocol'
import { json, known } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'

/** One problem, in the words of `chancery doctor`. */
export interface NetworkFinding {
  /** A stable name; docs/operate/doctor.md lists them. */
  readonly check: string
  /** `bad`: unsafe, or does not work. `warn`: works, but will cause a problem later. */
  readonly status: string
  readonly found: string
  readonly fix: string
  /** What happens because of it. */
  readonly effect: string | null
  /** The id of what it is about, such as a partner or a policy. */
  readonly about: string | null
  /** When it ends, or since when it holds. */
  readonly at: string | null
}

/** What was done to set up the network. */
export type FirstSteps = {
  readonly invite_made: boolean
  readonly node_joined: boolean
  readonly policy_active: boolean
  readonly partner_added: boolean
  readonly usable_operator_keys: number
  /** Null before the first recorded backup. */
  readonly backup_at: string | null
}

export interface NetworkFindings {
  readonly checked_at: string
  /** All of them; at most 200 are listed. */
  readonly count: number
  /** Bad before warnings. */
  readonly findings: readonly NetworkFinding[]
  /** Names of the checks that found no problem. */
  readonly passed: readonly string[]
  /** Names of the checks that could not run. Null where the authority does not state them. */
  readonly not_checked: readonly string[] | null
  readonly first_steps: FirstSteps
}

export interface FindingsApi {
  /** Beta. As operator. */
  list(options?: CallOptions): Promise<NetworkFindings>
}

const text = shape.required(shape.string)
const optional = shape.required(shape.nullable(shape.string))
const whole = shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER))
const flag = shape.required(shape.boolean)
const readFindings = known({
  checked_at: text,
  count: whole,
  findings: shape.required(
    shape.arrayOf(
      known({ check: text, status: text, found: text, fix: text, effect: optional, about: optional, at: optional }),
      { max: 200 },
    ),
  ),
  passed: shape.required(shape.arrayOf(shape.string, { max: 200 })),
  not_checked: shape.withDefault(shape.nullable(shape.arrayOf(shape.string, { max: 200 })), null),
  first_steps: shape.required(
    known({
      invite_made: flag,
      node_joined: flag,
      policy_active: flag,
      partner_added: flag,
      usable_operator_keys: whole,
      backup_at: optional,
    }),
  ),
})

export function findingsApi({ call }: Connection): FindingsApi {
  return {
    list: (options) => call({ route: findings.list, read: json((value) => readFindings(value, '')), options }),
  }
}
