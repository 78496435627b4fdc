import { type Instant, seconds } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import { FormError, type Read, type ReadBy } from '../reading/schema.ts'
import { identifier, keyId, label, publicKeys, timestamp } from '../reading/text.ts'
import { type RecordForm, closedPart, listOf, orNull, signedOnceForm, yes } from '../reading/trust-form.ts'
import { type JsonObject, type JsonValue, isJsonObject } from '../canonical/utf8.ts'
import { arrayOf, closed, integer, readRecord, required, string } from '../reading/shape.ts'
import { type EntrySubject, NO_SUBJECT } from './evidence-store-entry.ts'

/** Volumes are whole bytes. */
export const volumeBytes: (value: JsonValue, field: string) => number = integer(0, Number.MAX_SAFE_INTEGER)

export const licensePolicyForm = signedOnceForm({
  policy_id: yes(identifier),
  licensor_sovereign_id: yes(identifier),
  licensee_sovereign_id: yes(identifier),
  /** Empty: nothing is licensed. */
  allowed_source_ids: yes(listOf(label), []),
  /** Empty: only read. */
  allowed_access_types: yes(listOf(label), []),
  max_volume_bytes_per_session: orNull(volumeBytes),
  prohibited_classification_tags: yes(listOf(label), []),
  valid_from: yes(timestamp),
  valid_until: yes(timestamp),
})

/** What a licensor lets its data be used for (protocol/trust-operations 9.1). */
export type DataLicensePolicy = ReadBy<typeof licensePolicyForm>

/** What the licensor chooses. */
export type LicenseTerms = Omit<
  DataLicensePolicy,
  'policy_id' | 'licensor_sovereign_id' | 'valid_from' | 'valid_until' | 'signature'
> & { readonly validFrom: Instant; readonly validUntil: Instant }

export function draftDataLicensePolicy(
  facts: LicenseTerms & Pick<DataLicensePolicy, 'policy_id' | 'licensor_sovereign_id'>,
): DataLicensePolicy {
  const { validFrom, validUntil, ...named } = facts
  return { ...named, valid_from: writeInstant(validFrom), valid_until: writeInstant(validUntil), signature: null }
}

const INTENT_SECONDS = 300

/** One declared source; unknown members pass the reader and are reported by the form check. */
export const declaredSource = closedPart({
  source_id: yes(label),
  /** Usually personal, proprietary, public or synthetic. */
  source_type: yes(label),
  owner_sovereign_id: yes(identifier),
  classification_tags: yes(listOf(label), []),
})

export type DeclaredSource = ReadBy<typeof declaredSource>

export const accessIntentForm = signedOnceForm({
  intent_id: yes(identifier),
  agent_sovereign_id: yes(identifier),
  decision_id: yes(identifier),
  declared_sources: yes(listOf(declaredSource), []),
  /** Usually read, write, derive, train. */
  declared_access_types: yes(listOf(label), []),
  estimated_volume_bytes: orNull(volumeBytes),
  declared_at: yes(timestamp),
  expires_at: yes(timestamp),
})

/** What an agent says it is about to do with data (protocol/trust-operations 9.2). */
export type DataAccessIntent = ReadBy<typeof accessIntentForm>

export function draftDataAccessIntent(
  facts: Omit<DataAccessIntent, 'declared_at' | 'expires_at' | 'signature'> & { readonly now: Instant },
): DataAccessIntent {
  const { now, ...named } = facts
  const expires_at = writeInstant(now + seconds(INTENT_SECONDS))
  return { ...named, declared_at: writeInstant(now), expires_at, signature: null }
}

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
