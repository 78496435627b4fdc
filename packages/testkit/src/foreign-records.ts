import { randomUUID } from 'node:crypto'
import { type Instant, hours, writeInstant } from '@chancery/protocol'
import type { ForeignObject, ForeignSovereign } from './foreign-sovereign.ts'

/** Records another sovereign issues: in force now, every member written out; `changes` are signed with the rest. */
export function foreignAttestation(issuer: ForeignSovereign, now: Instant, changes: ForeignObject = {}): ForeignObject {
  return issuer.sign({
    attestation_id: randomUUID(),
    issuer_sovereign_id: issuer.sovereign_id,
    subject_id: 'zoë@partner',
    subject_public_key: null,
    roles: ['role:client'],
    status: 'active',
    ...windowAround(now),
    issued_by: issuer.key_id,
    claims: {},
    ...changes,
  })
}

export function foreignTreaty(
  issuer: ForeignSovereign,
  subject: Pick<ForeignSovereign, 'sovereign_id' | 'publicKey'>,
  now: Instant,
  changes: ForeignObject = {},
): ForeignObject {
  return issuer.sign({
    treaty_id: randomUUID(),
    issuer_sovereign_id: issuer.sovereign_id,
    subject_sovereign_id: subject.sovereign_id,
    subject_public_keys: [subject.publicKey],
    scope: { allowed_roles: ['role:client'], accepted_statuses: ['active'], claims: {} },
    status: 'active',
    ...windowAround(now),
    issued_by: issuer.key_id,
    metadata: {},
    ...changes,
  })
}

/** `ids` must be sorted by code point, as the signed form is. */
export function foreignFeed(
  issuer: ForeignSovereign,
  sequence: number,
  ids: readonly string[],
  changes: ForeignObject = {},
): ForeignObject {
  return issuer.sign({
    feed_id: randomUUID(),
    issuer_sovereign_id: issuer.sovereign_id,
    sequence,
    issued_at: '2026-01-01T00:00:00Z',
    revoked_attestation_ids: ids,
    revocation_reasons: {},
    issued_by: issuer.key_id,
    ...changes,
  })
}

function windowAround(now: Instant): ForeignObject {
  const start = writeInstant(now - hours(1))
  return { issued_at: start, valid_from: start, expires_at: writeInstant(now + hours(24)) }
}
