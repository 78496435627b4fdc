import { HOUR, readInstant, writeSortable } from '@chancery/protocol'
import { sql } from 'kysely'
import { faultPoint } from '#faults'
import type { CrlState } from './entries-cache.ts'
import { findLiveFormerKey } from '../../signing/stored-identity.ts'
import { KeySuccessionError } from './first-list.ts'
import { publishVersion } from './publish.ts'
import type { Transaction } from '../../database/database.ts'
import { findActiveVersion, issuerText } from './queries.ts'

export interface Succession {
  readonly formerKeyId: string
  readonly sequence: number
  readonly listsUntil: string
}

/** After its last certificate, the list may still be requested by readers with a slow clock. */
const LIST_MARGIN = HOUR

/**
 * Transfers the database to the new key, in one audited transaction with the first list of the new key and the next
 * list of the former one (decision 0006). All preconditions are checked before anything changes.
 */
export async function runKeySuccession(
  parts: CrlState,
  /** Runs in the same transaction: signs other records again with the new key. */
  within: (tx: Transaction) => Promise<void> = () => Promise.resolve(),
): Promise<Succession> {
  const { database, signing, network } = parts
  const { formerSigner } = parts.keys
  if (formerSigner === undefined)
    throw new KeySuccessionError(
      'NA_FORMER_PRIVATE_KEY_FILE: is required: the former key continues to sign its own list',
    )
  return database.write(async (tx) => {
    await tx.lock('crl')
    const owner = await tx.query.selectFrom('authority_identity').selectAll().executeTakeFirst()
    if (owner === undefined) throw new KeySuccessionError('the database is empty: there is no key to replace')
    if (owner.network_name !== network.name)
      throw new KeySuccessionError(`the database belongs to network ${owner.network_name}`)
    if (owner.public_key === signing.publicKey) throw new KeySuccessionError('the database already belongs to this key')
    if (owner.public_key !== formerSigner.publicKey)
      throw new KeySuccessionError('the database belongs to another key than the given former key')
    const now = parts.clock.now()
    // The way back: the former key becomes the current one again, and its own list continues as the list of all.
    await tx.query.deleteFrom('former_keys').where('public_key', '=', signing.publicKey).execute()
    const live = await findLiveFormerKey(tx.query, now)
    if (live !== undefined)
      throw new KeySuccessionError(
        `certificates of the previous key, ${live.key_id}, are in use until ${live.lists_until}`,
      )
    const last = await tx.query
      .selectFrom('issued_certs')
      .select((eb) => eb.fn.max('expires_at').as('expires_at'))
      .executeTakeFirst()
    const end = readInstant(last?.expires_at ?? '') ?? now
    const listsUntil = writeSortable((end > now ? end : now) + LIST_MARGIN)
    await tx.query.deleteFrom('former_keys').where('public_key', '=', formerSigner.publicKey).execute()
    await tx.query
      .insertInto('former_keys')
      .values({
        key_id: formerSigner.keyId,
        public_key: formerSigner.publicKey,
        succeeded_at: writeSortable(now),
        lists_until: listsUntil,
      })
      .execute()
    await storeOwner(tx, parts)
    faultPoint('switch-identity-stored')
    const [from, to] = [issuerText(formerSigner.keyId), issuerText(signing.keyId)]
    await sql`update crl_entries set entry_json = replace(entry_json, ${from}, ${to})`.execute(tx.query)
    const previous = await findActiveVersion(tx.query)
    const sequence = (previous?.sequence ?? 0) + 1
    const details = { job: 'key-succession' }
    await publishVersion(tx, parts, previous, sequence, { cause: 'refresh', appended: [], rewritten: true, details })
    await within(tx)
    await parts.audit.record(tx, {
      type: 'authority_key_succeeded',
      details: { former_key_id: formerSigner.keyId, new_key_id: signing.keyId, lists_until: listsUntil },
    })
    return { formerKeyId: formerSigner.keyId, sequence, listsUntil }
  })
}

/** With what the root signed for this key, so that instances with former settings start after later announcements. */
async function storeOwner(
  { query }: Transaction,
  { signing, network, keys }: Pick<CrlState, 'signing' | 'network' | 'keys'>,
): Promise<void> {
  const { publicKey: public_key, keyId: key_id } = signing
  const documents = { key_id, genesis_json: network.genesisText, history_json: keys.historyText ?? null }
  await query
    .updateTable('authority_identity')
    .set({ public_key, ...documents })
    .where('id', '=', 1)
    .execute()
}
