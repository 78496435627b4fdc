import type { Core } from '@chancery/authority'
import { hours, signList, writeInstant, writeJson, writeSortable } from '@chancery/protocol'
import type { Instant, JsonObject } from '@chancery/protocol'

export interface SeededTreaty {
  readonly treaty_id: string
  readonly from: string
  readonly to: string
  readonly issuedAt?: Instant
  readonly validityHours?: number
  /** Revoked for this reason an hour after its issue. */
  readonly revokedBecause?: string
}

const CHUNK = 500

type SeedParts = Pick<Core, 'clock' | 'signing' | 'database'>

/**
 * Puts treaties into the store, also between sovereigns that are not this one, which no route allows: graphs of many
 * sovereigns. This authority signs each of them: a row without its signature counts for nothing.
 */
export async function seedTreaties(core: SeedParts, treaties: readonly SeededTreaty[]): Promise<void> {
  for (let at = 0; at < treaties.length; at += CHUNK) {
    const some = treaties.slice(at, at + CHUNK)
    const rows = await Promise.all(some.map((treaty) => toRow(treaty, core)))
    await core.database.write(async (tx) => {
      await tx.query.insertInto('recognition_treaties').values(rows).execute()
      await tx.query
        .updateTable('heads')
        .set((eb) => ({ version: eb('version', '+', 1) }))
        .where('name', '=', 'treaties')
        .execute()
    })
  }
}

async function toRow(treaty: SeededTreaty, { signing, clock }: SeedParts) {
  const { treaty_id, from, to, issuedAt = clock.now(), validityHours = 720, revokedBecause } = treaty
  const [valid_from, expires_at] = [writeInstant(issuedAt), writeInstant(issuedAt + hours(validityHours))]
  const record: JsonObject = {
    treaty_id,
    issuer_sovereign_id: from,
    subject_sovereign_id: to,
    subject_public_keys: ['FWxV5KPAG28PqQ20lCvRmUsOjMVzadpN56I1bkBPX1o='],
    scope: { allowed_roles: ['role:client'], accepted_statuses: ['active'], claims: {} },
    status: 'active',
    issued_at: valid_from,
    valid_from,
    expires_at,
    issued_by: signing.keyId,
    metadata: {},
  }
  const isRevoked = revokedBecause !== undefined
  return {
    treaty_id,
    issuer_sovereign_id: from,
    subject_sovereign_id: to,
    status: isRevoked ? 'revoked' : 'active',
    treaty_json: writeJson(await signList(record, signing.signer)),
    issued_at: writeSortable(issuedAt),
    valid_from,
    expires_at,
    revoked_at: isRevoked ? writeSortable(issuedAt + hours(1)) : null,
    revocation_reason: revokedBecause ?? null,
  }
}
