import { type JsonObject, type JsonValue, isJsonObject, readJson, sha256Hex } from '@chancery/protocol'
import type { AuditEventType } from '@chancery/contract'
import { listNewestEvents } from '../../audit/newest.ts'
import type { OperatorKeyring } from '../../auth/operator-keys.ts'
import type { Reader } from '../../database/database.ts'
import { toDisplay } from '../../pages/display-time.ts'

const NEWEST = 8

export type ChangeState = 'accepted' | 'rejected' | 'revoked' | 'recorded'

export type RecentChange = {
  readonly event_type: string
  readonly created_at: string
  readonly created_at_display: string
  readonly details: JsonObject
  readonly summary: {
    readonly title: string
    readonly state: ChangeState
    readonly fields: readonly { readonly label: string; readonly value: JsonValue }[]
  }
}

/** The public part of an event: the change and its record. It never has the operator, the address or the subject. */
const SHOWN: Readonly<
  Partial<
    Record<
      AuditEventType,
      {
        readonly title: string
        readonly state: ChangeState
        readonly fields: readonly string[]
      }
    >
  >
> = {
  certificate_revoked: { title: 'Certificate revoked', state: 'revoked', fields: ['reason', 'crl_sequence'] },
  crl_published: { title: 'Revocation list published', state: 'recorded', fields: ['sequence', 'entries', 'cause'] },
  policy_published: { title: 'Policy published', state: 'accepted', fields: ['policy_id', 'previous_policy_id'] },
  policy_rolled_back: { title: 'Policy rolled back', state: 'accepted', fields: ['policy_id', 'previous_policy_id'] },
  membership_attestation_issued: { title: 'Attestation issued', state: 'accepted', fields: ['attestation_id'] },
  membership_attestation_revoked: { title: 'Attestation revoked', state: 'revoked', fields: ['attestation_id'] },
  recognition_policy_saved: {
    title: 'Recognition policy saved',
    state: 'accepted',
    fields: ['policy_id', 'recognized_issuer_count'],
  },
  recognition_treaty_issued: {
    title: 'Treaty issued',
    state: 'accepted',
    fields: ['treaty_id', 'subject_sovereign_id'],
  },
  recognition_treaty_revoked: { title: 'Treaty revoked', state: 'revoked', fields: ['treaty_id', 'reason'] },
  sovereign_revocation_feed_imported: {
    title: 'Revocation feed imported',
    state: 'accepted',
    fields: ['issuer_sovereign_id', 'sequence', 'revoked_count', 'differs_from_pinned'],
  },
  sovereign_revocation_feed_rejected: {
    title: 'Revocation feed refused',
    state: 'rejected',
    fields: ['issuer_sovereign_id', 'sequence', 'reason'],
  },
  // What a standard key may sign in the name of this sovereign. Shown with that key.
  trust_evidence_built: {
    title: 'Trust evidence signed',
    state: 'recorded',
    fields: ['source_sovereign_id', 'target_sovereign_id', 'verdict', 'operator'],
  },
  agreement_cosigned: {
    title: 'Agreement signed as offerer',
    state: 'accepted',
    fields: ['agreement_id', 'responder_sovereign_id', 'capabilities', 'operator'],
  },
  validator_vote_cast: {
    title: 'Vote signed',
    state: 'recorded',
    fields: ['issuer_sovereign_id', 'decision_id', 'trust_basis', 'differs_from_pinned', 'operator'],
  },
  data_license_policy_created: {
    title: 'Data license changed',
    state: 'accepted',
    fields: ['policy_id', 'previous_policy_id', 'operator'],
  },
}

/** Number of hexadecimal digits of a fingerprint that identify an operator key. */
const FINGERPRINT_DIGITS = 16

/** With a confidential membership the ids of attestations are left out, because each reveals a record. */
export async function listRecentChanges(
  db: Reader,
  isMembershipPublic: boolean,
  operators: OperatorKeyring,
): Promise<readonly RecentChange[]> {
  const texts = await listNewestEvents(db, Object.keys(SHOWN) as AuditEventType[], NEWEST)
  return texts.map((text) => describe(readJson(text), isMembershipPublic, operators))
}

/**
 * Identifies an operator key in public: the start of SHA-256 of the public key. The key id is left out, because an
 * attacker needs it to name the key in calls.
 */
function nameOperator(details: JsonObject, operators: OperatorKeyring): JsonObject {
  const key_id = textOf(details['key_id'])
  const key = operators.get(key_id)
  return { operator: key === undefined ? 'removed key' : sha256Hex(key.bytes).slice(0, FINGERPRINT_DIGITS) }
}

function describe(event: JsonValue, isMembershipPublic: boolean, operators: OperatorKeyring): RecentChange {
  const record = isJsonObject(event) ? event : {}
  const event_type = textOf(record['event_type'])
  const created_at = textOf(record['created_at'])
  const shown = SHOWN[event_type as AuditEventType]
  const details = isJsonObject(record['details']) ? record['details'] : {}
  const facts = { ...details, ...nameOperator(details, operators) }
  const known = (shown?.fields ?? []).filter(
    (name) => Object.hasOwn(facts, name) && (isMembershipPublic || name !== 'attestation_id'),
  )
  return {
    event_type,
    created_at,
    created_at_display: toDisplay(created_at),
    details: Object.fromEntries(known.map((name) => [name, facts[name] ?? null])),
    summary: {
      title: shown?.title ?? event_type,
      state: shown?.state ?? 'recorded',
      fields: known.map((name) => ({ label: name.replaceAll('_', ' '), value: facts[name] ?? null })),
    },
  }
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}
