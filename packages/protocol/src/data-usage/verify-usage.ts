import { accessIntentForm, licensePolicyForm } from '../artifacts/data-access-intent.ts'
import type { DataAccessIntent, DataLicensePolicy } from '../artifacts/data-access-intent.ts'
import type { JsonValue } from '../canonical/utf8.ts'
import type { Instant } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'
import { checkReceivedForm, readReceived, verifyReceived, verifyReceivedSignature } from '../signing/received.ts'
import type { Received } from '../signing/received.ts'

export function readDataLicensePolicy(value: JsonValue): Received<DataLicensePolicy> {
  return readReceived(licensePolicyForm, value)
}

export function readDataAccessIntent(value: JsonValue): Received<DataAccessIntent> {
  return readReceived(accessIntentForm, value)
}

export type UsageViolationType =
  | 'intent_exceeds_license'
  | 'intent_expired'
  | 'policy_expired'
  | 'source_not_licensed'
  | 'prohibited_classification'
  | 'access_type_not_permitted'
  | 'volume_cap_exceeded'

export interface UsageViolation {
  readonly type: UsageViolationType
  /** For people; names what is at fault and never repeats a whole record. */
  readonly detail: string
}

export interface UsageTrust {
  readonly agentKeys: readonly string[]
  /** Lists of which each must hold a key that signed the policy; none when no key of the licensor is known. */
  readonly policyKeys: readonly (readonly string[])[]
  readonly now: Instant
}

/**
 * Everything an intent does that its license does not allow (protocol/trust-operations 9.3).
 * 1., 2. The agent signed exactly this intent: a declaration of another party does not bind it.
 * 3. Neither record has unknown members: an unknown limit would be silently ignored.
 * 4. Where a key of the licensor is known, it signed the policy: else any caller could license anything to itself.
 * Those four end the check, since an unproved record proves nothing. The rest is collected:
 * 5., 6. Both records are in force. 7., 8. Each source is licensed and bears no prohibited tag.
 * 9. Each access type is allowed. 10. The estimate stays within the cap.
 */
export async function verifyDataUsage(
  intent: Received<DataAccessIntent>,
  policy: Received<DataLicensePolicy>,
  trust: UsageTrust,
): Promise<readonly UsageViolation[]> {
  const unproved = await findUnproved(intent, policy, trust)
  if (unproved !== undefined) return [{ type: 'intent_exceeds_license', detail: unproved }]
  return [
    ...overdue(intent.record, policy.record, trust.now),
    ...unlicensedSources(intent.record, policy.record),
    ...unlicensedAccess(intent.record, policy.record),
  ]
}

async function findUnproved(
  intent: Received<DataAccessIntent>,
  policy: Received<DataLicensePolicy>,
  { agentKeys, policyKeys }: UsageTrust,
): Promise<string | undefined> {
  const declared = await verifyReceived(intent, agentKeys)
  if (!declared.ok) return `the intent does not verify: ${declared.reason}`
  const form = checkReceivedForm(policy)
  if (!form.ok) return `the policy does not verify: ${form.reason}`
  for (const keys of policyKeys)
    if (!(await verifyReceivedSignature(policy, keys))) return 'the policy does not verify: invalid_signature'
  return undefined
}

function* overdue(intent: DataAccessIntent, policy: DataLicensePolicy, now: Instant): Generator<UsageViolation> {
  if (now > instantOf(intent.expires_at)) yield { type: 'intent_expired', detail: 'the intent is over' }
  if (now > instantOf(policy.valid_until)) yield { type: 'policy_expired', detail: 'the policy is over' }
  else if (now < instantOf(policy.valid_from)) yield { type: 'policy_expired', detail: 'the policy has not begun' }
}

function* unlicensedSources(intent: DataAccessIntent, policy: DataLicensePolicy): Generator<UsageViolation> {
  const [allowed, prohibited] = [new Set(policy.allowed_source_ids), new Set(policy.prohibited_classification_tags)]
  for (const { source_id, classification_tags } of intent.declared_sources) {
    if (!allowed.has(source_id)) yield { type: 'source_not_licensed', detail: `source ${source_id} is not licensed` }
    const tag = classification_tags.find((each) => prohibited.has(each))
    if (tag !== undefined)
      yield { type: 'prohibited_classification', detail: `source ${source_id} bears the prohibited tag ${tag}` }
  }
}

function* unlicensedAccess(intent: DataAccessIntent, policy: DataLicensePolicy): Generator<UsageViolation> {
  const { allowed_access_types: named, max_volume_bytes_per_session: cap } = policy
  const allowed = new Set(named.length === 0 ? ['read'] : named)
  for (const type of intent.declared_access_types)
    if (!allowed.has(type)) yield { type: 'access_type_not_permitted', detail: `access type ${type} is not permitted` }
  const estimate = intent.estimated_volume_bytes
  if (cap !== null && estimate !== null && estimate > cap)
    yield { type: 'volume_cap_exceeded', detail: `${estimate} bytes are more than the ${cap} of the policy` }
}
