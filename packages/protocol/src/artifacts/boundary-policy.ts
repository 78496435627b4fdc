import { digestOf } from '../canonical/digest.ts'
import type { JsonValue } from '../canonical/utf8.ts'
import type { Instant } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import { type Scalar, isScalar } from '../boundary/engine-question.ts'
import { FormError, type Read, type ReadBy, described } from '../reading/schema.ts'
import { arrayOf, boolean, integer, object, oneOf, string } from '../reading/shape.ts'
import { identifier, plainText, timestamp } from '../reading/text.ts'
import { MAX_ITEMS, closedPart, listOf, signedOnceForm, yes } from '../reading/trust-form.ts'

export type GateMode = 'enforce' | 'observe'

export const EMPTY_SELECTOR: PolicySelector = {
  capabilities: [],
  requester_sovereign_ids: [],
  provider_sovereign_ids: [],
  agreement_ids: [],
  parent_kinds: [],
  parameter_equals: {},
}

/** Entries of a selector list; an empty one is a validation issue and not a wrong type. */
const selectorList: Read<readonly string[]> = arrayOf(plainText(256, 0), { max: 256 })

const scalar: Read<Scalar> = described(
  (value, field) => {
    if (!isScalar(value)) throw new FormError(field, 'is not a text, number, boolean or null')
    return value
  },
  () => ({ type: ['string', 'number', 'boolean', 'null'] }),
)
const scalars = arrayOf(scalar, { max: MAX_ITEMS })

const parameterEquals: Read<{ readonly [path: string]: readonly Scalar[] }> = (value, field) => {
  const found = object(value, field)
  const paths = Object.keys(found)
  if (paths.length > MAX_ITEMS) throw new FormError(field, 'has too many members')
  // The place is the member as a whole: a path comes from the caller and may be anything.
  for (const path of paths) scalars(found[path] as JsonValue, field)
  return found as { readonly [path: string]: readonly Scalar[] }
}

described(parameterEquals, (of) => ({
  type: 'object',
  maxProperties: MAX_ITEMS,
  additionalProperties: of(scalars),
}))

/** Readers of the members a caller may send, shared by the intent and the record (5.1). */
export const SELECTOR_READERS = {
  capabilities: selectorList,
  requester_sovereign_ids: selectorList,
  provider_sovereign_ids: selectorList,
  agreement_ids: selectorList,
  parent_kinds: selectorList,
  parameter_equals: parameterEquals,
}

export const GATE_READERS = {
  gate_id: string,
  gate_type: string,
  order: integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  mode: oneOf('enforce', 'observe'),
  config: object,
  disclose_input: boolean,
}

/** Characters, as the writer of a text counts them. */
export const description: Read<string> = (value, field) => {
  const text = string(value, field)
  if (text.length > 2048 || [...text].length > 1024) throw new FormError(field, 'is longer than 1024 characters')
  return text
}

described(description, () => ({ type: 'string', maxLength: 1024 }))

const selector = closedPart({
  capabilities: yes(SELECTOR_READERS.capabilities, []),
  requester_sovereign_ids: yes(SELECTOR_READERS.requester_sovereign_ids, []),
  provider_sovereign_ids: yes(SELECTOR_READERS.provider_sovereign_ids, []),
  agreement_ids: yes(SELECTOR_READERS.agreement_ids, []),
  parent_kinds: yes(SELECTOR_READERS.parent_kinds, []),
  parameter_equals: yes(SELECTOR_READERS.parameter_equals, {}),
})

/** To which requests a policy applies (protocol/trust-operations 5.4). */
export type PolicySelector = ReadBy<typeof selector>

const gate = closedPart({
  gate_id: yes(GATE_READERS.gate_id),
  gate_type: yes(GATE_READERS.gate_type),
  order: yes(GATE_READERS.order),
  mode: yes(GATE_READERS.mode),
  config: yes(GATE_READERS.config, {}),
  disclose_input: yes(GATE_READERS.disclose_input),
})

/** One condition of a policy. Only an enforced gate denies; an observed one is recorded. */
export type GateSpec = ReadBy<typeof gate>

/** Types only: whether ids, orders and configs make sense is for the validation of 5.3, which names its reasons. */
export const BOUNDARY_POLICY_FORM = signedOnceForm({
  policy_id: yes(identifier),
  version: yes(integer(1, Number.MAX_SAFE_INTEGER)),
  description: yes(description),
  valid_from: yes(timestamp),
  valid_until: yes(timestamp),
  selector: yes(selector),
  gates: yes(listOf(gate), []),
  issued_at: yes(timestamp),
  issued_by: yes(identifier),
  issuer_sovereign_id: yes(identifier),
})

/** A signed rule for boundary decisions (protocol/trust-operations 5.1). Whether it is active is not part of it. */
export type BoundaryPolicy = ReadBy<typeof BOUNDARY_POLICY_FORM>

/** The part of a policy its author chooses. */
export type BoundaryPolicyIntent = Pick<
  BoundaryPolicy,
  'policy_id' | 'description' | 'valid_from' | 'valid_until' | 'selector' | 'gates'
>

export function draftBoundaryPolicy(
  intent: BoundaryPolicyIntent,
  facts: {
    readonly version: number
    readonly issued_by: string
    readonly issuer_sovereign_id: string
    readonly now: Instant
  },
): BoundaryPolicy {
  const { now, ...named } = facts
  return { ...intent, ...named, issued_at: writeInstant(now), signature: null }
}

/** H(C(policy without signature)): names exactly this content. */
export function boundaryPolicyDigest({ signature: _signature, ...body }: BoundaryPolicy): string {
  return digestOf(body)
}
