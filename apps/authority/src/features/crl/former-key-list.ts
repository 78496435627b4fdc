import { CRL_VALIDITY, toBase64, toUtf8, verifySignature, writeJson, writeSortable } from '@chancery/protocol'
import type { Instant, Signer } from '@chancery/protocol'
import type { CrlParts } from './parts.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { assertStored } from '../../database/assert-stored.ts'
import { findLiveFormerKey } from '../../signing/stored-identity.ts'
import { requireLiving } from './continuity.ts'
import { listText } from './list-text.ts'
import { joinFormerEntries } from './queries.ts'
import { signedEntries } from './signed-list.ts'

/**
 * Signs the list of the former key. It is signed in the transaction of every version of the current list, with the same
 * sequence, until the last certificate of that key has ended (decision 0006). It has the revoked certificates that this
 * key issued.
 */
export async function publishFormerList(
  tx: Transaction,
  parts: CrlParts,
  { sequence, issuedAt }: { readonly sequence: number; readonly issuedAt: Instant },
): Promise<void> {
  const live = await findLiveFormerKey(tx.query, issuedAt)
  if (live === undefined) return
  const { formerSigner } = parts.keys
  // The start refuses without this key. It may have been removed since.
  if (formerSigner?.publicKey !== live.public_key) throw new Error('the former key is not available')
  const entries = await joinFormerEntries(parts.database, tx.query, formerSigner.keyId, parts.signing.keyId)
  const last = await findFormerList(tx.query, formerSigner.keyId)
  if (last !== undefined) {
    const before = await signedEntries(last.crl_json, last.sequence, [formerSigner.publicKey])
    await requireLiving(tx.query, parts, { before, entries, now: parts.clock.now() })
  }
  const header = { crl_id: parts.ids.uuid(), sequence, issuer: formerSigner.keyId, issuedAt }
  const crl_json = await signList(formerSigner, listText(header, entries))
  const next_update = writeSortable(issuedAt + CRL_VALIDITY)
  const stored = await tx.query
    .insertInto('former_crl_versions')
    .values({ key_id: formerSigner.keyId, sequence, crl_json, next_update })
    .returning('crl_json')
    .executeTakeFirst()
  assertStored(crl_json, stored?.crl_json)
}

export async function findFormerList(
  db: Reader,
  key_id: string,
): Promise<{ readonly sequence: number; readonly crl_json: string; readonly next_update: string } | undefined> {
  return db
    .selectFrom('former_crl_versions')
    .select(['sequence', 'crl_json', 'next_update'])
    .where('key_id', '=', key_id)
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** A list as a key signs it, verified before it is published. */
export async function signList(signer: Signer, body: string): Promise<string> {
  const message = toUtf8(body)
  const sig = toBase64(await signer.sign(message))
  if (!(await verifySignature(signer.publicKey, message, sig)))
    throw new Error('the key produced a signature that does not verify')
  return `${body.slice(0, -1)},"signatures":[${writeJson({ key_id: signer.keyId, sig })}]}`
}
