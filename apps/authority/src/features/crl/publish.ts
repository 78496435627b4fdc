import { draftCrl, instantOf, readCrl, readJson, writeJson, writeSortable } from '@chancery/protocol'
import type { CrlEntry, Instant, JsonObject } from '@chancery/protocol'
import { recordAudit } from '../../audit/record.ts'
import type { Office } from '../../office.ts'
import { seal } from '../../signing/seal.ts'
import type { Tx } from '../../store/database.ts'
import { bumpHead } from '../../store/heads.ts'
import { insertCrl } from './store.ts'
import type { StoredCrl } from './store.ts'

/** Signs and keeps the next version. The caller holds the list's head, so sequences have no gap and no fork. */
export async function publishCrl(
  tx: Tx,
  office: Office,
  facts: {
    readonly previous: StoredCrl | undefined
    readonly sequence: number
    readonly entries: readonly CrlEntry[]
    readonly cause: 'revoke' | 'superseded' | 'refresh'
    readonly details: JsonObject
  },
): Promise<StoredCrl> {
  const now = notBefore(office.clock.now(), facts.previous)
  const { sequence, entries, cause } = facts
  const draft = draftCrl({ crl_id: office.ids.uuid(), sequence, issuer: office.signer.keyId, now, entries })
  const stored = { sequence, crl_json: writeJson(await seal(office, draft)) }
  await insertCrl(tx, stored, writeSortable(now))
  await bumpHead(tx, 'crl')
  const details = { sequence, entries: entries.length, cause, ...facts.details }
  await recordAudit(tx, office, { type: 'crl_published', details })
  return stored
}

/** A list is never dated before its predecessor, even when a clock was set back (reliability 8). */
function notBefore(now: Instant, previous: StoredCrl | undefined): Instant {
  if (previous === undefined) return now
  const floor = instantOf(readCrl(readJson(previous.crl_json)).issued_at)
  return floor > now ? floor : now
}
