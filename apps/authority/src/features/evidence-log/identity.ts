import { type LogIdentity, logIdentityForm, readJson, readReceived, writeInstant, writeJson } from '@chancery/protocol'
import type { Reader, Transaction } from '../../database/database.ts'
import type { EvidenceLogParts } from './parts.ts'

export async function findIdentity(db: Reader): Promise<LogIdentity | undefined> {
  const row = await db.selectFrom('evidence_log_identity').select('record_json').executeTakeFirst()
  return row === undefined ? undefined : readReceived(logIdentityForm, readJson(row.record_json)).record
}

/** True when the signed identity names this log with its current keys. */
export async function isIdentityCurrent(db: Reader, parts: EvidenceLogParts, origin: string): Promise<boolean> {
  const stored = await findIdentity(db)
  if (stored === undefined) return false
  const keys = parts.logSigners.map(({ publicKey }) => publicKey)
  const isSame = stored.origin === origin && stored.public_keys.join() === keys.join()
  return isSame && stored.issued_by === parts.signing.keyId && stored.sovereign_id === parts.network.name
}

/** Signs name and keys of the log with the key of the authority: readers trust a log key only through this record. */
export async function storeIdentity(tx: Transaction, parts: EvidenceLogParts, origin: string): Promise<void> {
  if (await isIdentityCurrent(tx.query, parts, origin)) return
  const record = await parts.signing.signForm(logIdentityForm, {
    sovereign_id: parts.network.name,
    origin,
    public_keys: parts.logSigners.map(({ publicKey }) => publicKey),
    issued_at: writeInstant(parts.clock.now()),
    issued_by: parts.signing.keyId,
    signature: null,
  })
  const record_json = writeJson(record)
  await tx.query
    .insertInto('evidence_log_identity')
    .values({ id: 1, record_json })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ record_json }))
    .execute()
}
