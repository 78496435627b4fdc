import { shape } from '@chancery/protocol'
import type { AnswerOf } from '../form.ts'
import { flag, listOf, text, textOrNull, texts, whole } from '../members.ts'
import { type Routes, routes } from '../route.ts'

const facts = {
  list: {
    id: 'GET /admin/findings',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'What needs attention',
    purpose: 'Lists the findings of doctor that a running authority can check, and which first steps were done.',
    errors: ['unexpected_field'],
    query: {},
    answer: shape.open({
      checked_at: text,
      /** All of them; at most 200 are listed. */
      count: whole,
      /** Bad before warnings. */
      findings: listOf(
        shape.open({
          /** A stable name; docs/operate/doctor.md lists them. */
          check: text,
          /** `bad`: unsafe, or does not work. `warn`: works, but will cause a problem later. */
          status: text,
          found: text,
          fix: text,
          /** What happens because of it. */
          effect: textOrNull,
          /** The id of what it is about, such as a partner or a policy. */
          about: textOrNull,
          /** When it ends, or since when it holds. */
          at: textOrNull,
        }),
      ),
      /** Names of the checks that found no problem. */
      passed: texts,
      /** Names of the checks that could not run. Null where the authority does not state them. */
      not_checked: shape.withDefault(shape.nullable(shape.arrayOf(shape.string, { max: 200 })), null),
      /** What was done to set up the network. */
      first_steps: shape.required(
        shape.open({
          invite_made: flag,
          node_joined: flag,
          policy_active: flag,
          partner_added: flag,
          usable_operator_keys: whole,
          /** Null before the first recorded backup. */
          backup_at: textOrNull,
        }),
      ),
    }),
  },
} as const

/** What needs attention, for operators and the console. */
export const findings: Routes<typeof facts> = routes(facts)

export type NetworkFindings = AnswerOf<typeof findings.list>
/** One problem, in the words of `chancery doctor`. */
export type NetworkFinding = NetworkFindings['findings'][number]
export type FirstSteps = NetworkFindings['first_steps']
