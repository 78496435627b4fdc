import type { JsonValue } from '../canonical/json-value.ts'
import { type Instant, writeInstant } from '../canonical/time.ts'
import type { ReadBy } from '../reading/read.ts'
import { integer } from '../reading/shape.ts'
import { identifier, label, timestamp } from '../reading/text.ts'
import { listOf, orNull, signedOnceForm, yes } from '../reading/trust-form.ts'

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
