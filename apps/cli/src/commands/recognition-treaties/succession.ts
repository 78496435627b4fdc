import { HOUR, type RecognitionTreaty, canonicalJson, instantOf, sha256Hex, toUtf8, visible } from '@chancery/protocol'
import type { TreatyRequest, TreatyRow } from '@chancery/sdk'
import type { Connection } from '../../connection/connection.ts'
import { CommandError } from '../../errors/failure.ts'

export type Succession = 'renewed_by' | 'replaced_by'

/** Returns the treaty to replace; a treaty that has ended cannot be replaced. */
export async function findPredecessor(connection: Connection, id: string): Promise<TreatyRow> {
  const row = await connection.ask((client) => client.recognitionTreaties.find(id))
  if (row.status !== 'revoked') return row
  const next = row.lifecycle.replacement_treaty_id
  const hint =
    next === null
      ? 'Issue a new treaty: chancery treaty issue, or chancery federation bootstrap.'
      : `It was followed by ${visible(next)}: use that one.`
  throw new CommandError({ code: 'treaty_ended', message: `Treaty ${visible(id)} has ended already.`, hint })
}

/** With the lifetime of the old one. */
export function hoursOf({ valid_from, expires_at }: RecognitionTreaty): number {
  const hours = Number((instantOf(expires_at) - instantOf(valid_from)) / HOUR)
  return Math.min(Math.max(hours, 1), 26_280)
}

export type Terms = Required<Omit<TreatyRequest, 'issuer_sovereign_id'>>

/** Returns the request for an equal treaty. */
export function sameAs(treaty: RecognitionTreaty, validityHours = hoursOf(treaty)): Terms {
  const { subject_sovereign_id, subject_public_keys, scope, metadata } = treaty
  return { subject_sovereign_id, subject_public_keys, scope, metadata, validity_hours: validityHours }
}

/**
 * Signs the new treaty and ends the old one in one request. The idempotency key is derived from both, so that a retry
 * after a lost response does not issue a third treaty.
 */
export async function succeed(
  connection: Connection,
  old: RecognitionTreaty,
  request: Terms,
  succession: Succession,
): Promise<RecognitionTreaty> {
  const text = canonicalJson({ ...request, scope: { ...request.scope } })
  const idempotencyKey = `${succession}:${sha256Hex(toUtf8(`${old.treaty_id}\n${text}`))}`
  const { validity_hours, subject_public_keys, scope } = request
  const changes = succession === 'renewed_by' ? { validity_hours } : { validity_hours, subject_public_keys, scope }
  const { treaty } = await connection.ask((client) =>
    client.recognitionTreaties.renew(old.treaty_id, changes, { idempotencyKey }),
  )
  const { status } = await connection.ask((client) => client.recognitionTreaties.find(treaty.treaty_id))
  // A stored response may name a treaty that was revoked later.
  if (status !== 'active')
    throw new CommandError({
      code: 'treaty_ended',
      message: `Treaty ${visible(treaty.treaty_id)}, which followed, was revoked since.`,
      hint: 'Issue a new treaty: chancery treaty issue, or chancery federation bootstrap.',
    })
  return treaty
}
