import { BOUNDARY_POLICY_FORM, GATE_READERS, SELECTOR_READERS, described, shape } from '@chancery/protocol'
import type { JsonObject, Read } from '@chancery/protocol'
import { EXAMPLE_INTENT } from '../example-values.ts'
import { body } from '../form.ts'
import { count, flag, listOf, signedRecord, text, textOrNull, whole, wholeOrNull } from '../members.ts'

const { arrayOf, closed, integer, nullable, open, optional, required, withDefault } = shape

/** What the author of a policy chooses. */
const intent = {
  policy_id: text,
  description: optional(shape.string),
  valid_from: text,
  valid_until: text,
  selector: optional(
    closed({
      capabilities: optional(SELECTOR_READERS.capabilities),
      requester_sovereign_ids: optional(SELECTOR_READERS.requester_sovereign_ids),
      provider_sovereign_ids: optional(SELECTOR_READERS.provider_sovereign_ids),
      agreement_ids: optional(SELECTOR_READERS.agreement_ids),
      parent_kinds: optional(SELECTOR_READERS.parent_kinds),
      parameter_equals: optional(SELECTOR_READERS.parameter_equals),
    }),
  ),
  gates: optional(
    arrayOf(
      closed({
        gate_id: required(GATE_READERS.gate_id),
        gate_type: required(GATE_READERS.gate_type),
        order: required(GATE_READERS.order),
        mode: optional(GATE_READERS.mode),
        config: optional(GATE_READERS.config),
        disclose_input: optional(GATE_READERS.disclose_input),
      }),
      { max: 64 },
    ),
  ),
  /** Cedar policy sets and schemas that gates name by their digests. */
  texts: optional(arrayOf(shape.string, { max: 64 })),
}
export const intentBody = body('invalid_boundary_policy', intent, EXAMPLE_INTENT)
/** As its author wrote it: the authority reports everything that is wrong in it at once. */
const writtenIntent: Read<JsonObject> = described(
  (value, place) => shape.object(value, place),
  (of) => of(intentBody.read),
)

export const policy = signedRecord('boundary-policy', BOUNDARY_POLICY_FORM)
/** Null if the store no longer has the published text. */
export const policyOrNull = required(nullable(policy))

/** A stored version. Members of the text are null if the store no longer has the published text. */
export const row = {
  policy_id: text,
  version: whole,
  active: flag,
  policy_digest: text,
  created_at: text,
  activated_at: textOrNull,
  deactivated_at: textOrNull,
  integrity_ok: flag,
  description: textOrNull,
  valid_from: textOrNull,
  valid_until: textOrNull,
  gate_count: wholeOrNull,
  /** True when no selector narrows it. */
  global: withDefault(nullable(shape.boolean), null),
}

export const simulationBody = body(
  'invalid_input',
  {
    intent: required(writtenIntent),
    /** Up to 1000. Exactly one of contexts and decisions. */
    contexts: optional(arrayOf(shape.object, { max: 1000 })),
    /** Of the evidence store: a range, or the newest. */
    decisions: optional(
      open({
        after_sequence: optional(count),
        limit: optional(integer(1, 1000)),
        newest: optional(integer(1, 1000)),
      }),
    ),
    /** 20 when absent. */
    sample_limit: optional(integer(1, 200)),
    /** `next_sample_cursor` of the page before. */
    sample_cursor: optional(shape.string),
  },
  {
    intent: EXAMPLE_INTENT,
    contexts: [{ attributes: {}, request_parameters: { amount: 100 }, requested_capability: 'payments.transfer' }],
  },
)

const simulated = required(open({ authorized: flag, denial_reason: textOrNull }))

export const simulation = open({
  policy_id: text,
  version: whole,
  active_set_healthy: flag,
  candidate_set_healthy: flag,
  total: whole,
  unchanged: whole,
  newly_allowed: whole,
  newly_denied: whole,
  /** Requests that a person would have to approve, and need no person now. */
  newly_held: withDefault(count, 0),
  /** Requests for which an external fact is not known. The gate that asks for it denies them. */
  external_facts_missing: withDefault(count, 0),
  /** Requests for which Cedar gave no answer. */
  engine_answers_missing: withDefault(count, 0),
  first_sequence: wholeOrNull,
  /** Where a range of stored decisions ended; continue from here. */
  last_sequence: wholeOrNull,
  /** Where the sample continues; null when it is complete, or the authority cannot continue it. */
  next_sample_cursor: textOrNull,
  /** Some of the changes, by the index of the request. */
  sample: listOf(
    open({ index: whole, store_sequence: wholeOrNull, change: text, active: simulated, candidate: simulated }),
  ),
})
