import { type JsonObject, type JsonValue, isJsonObject } from '../canonical/json-value.ts'
import { FormError } from '../reading/form-error.ts'
import type { Read, ReadBy } from '../reading/read.ts'
import { arrayOf, closed, readRecord, required, string } from '../reading/shape.ts'
import { identifier, keyId, publicKeys, timestamp } from '../reading/text.ts'
import type { RecordForm } from '../reading/trust-form.ts'
import { accessIntentForm } from './data-access-intent.ts'
import { licensePolicyForm } from './data-license-policy.ts'
import { type EntrySubject, NO_SUBJECT } from './evidence-store-entry.ts'

/** Unknown members stay: they may be what was found. */
function presented(form: RecordForm<unknown>): Read<JsonObject> {
  return (value, field) => {
    if (!isJsonObject(value)) throw new FormError(field, 'an object is needed')
    form.read(value, field)
    return value
  }
}

const violation = closed({
  violation_id: required(identifier),
  violation_type: required(identifier),
  detail: required(string),
})

const usageViolationShape = closed({
  detected_at: required(timestamp),
  /** The operator key that asked for the record. */
  recorded_by: required(keyId),
  violations: required(arrayOf(violation, { min: 1, max: 10_000 })),
  /** As presented. */
  intent: required(presented(accessIntentForm)),
  policy: required(presented(licensePolicyForm)),
  agent_keys: required(publicKeys),
  /** Of each list one key must have signed the policy. Without a list its signature was not checked. */
  policy_keys: required(arrayOf(publicKeys, { max: 2 })),
})

/**
 * The uses of an intent that its license does not allow, as an operator had them recorded (protocol/trust-operations
 * 9.4). It has everything that the check read, so anyone can repeat it.
 */
export type UsageViolationRecord = ReadBy<typeof usageViolationShape>

export function readUsageViolation(value: JsonValue): UsageViolationRecord {
  return readRecord(usageViolationShape, value)
}

/** The envelope names nothing: agent and decision are claims of the intent. */
export const USAGE_VIOLATION_SUBJECT: EntrySubject = {
  ...NO_SUBJECT,
  entry_kind: 'usage_violation',
  outcome: 'violation',
}
