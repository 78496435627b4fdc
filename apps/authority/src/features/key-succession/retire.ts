import { writeSortable } from '@chancery/protocol'
import type { KeySuccessionParts } from './parts.ts'
import { findSuccession } from '../../signing/newest-block.ts'
import { findLiveFormerKey } from '../../signing/stored-identity.ts'
import { KeySuccessionError } from '../crl/index.ts'
import { countUsable, enterPhase } from './queries.ts'

/**
 * Ends the list of the former key, and with it the succession. After that the succession cannot be undone, and the key
 * can be destroyed. Undefined when there was no list to end: the command was repeated, the list has expired, or the
 * succession was undone before the switch.
 */
export async function retireKey(
  parts: KeySuccessionParts,
  { isForced }: { readonly isForced: boolean },
): Promise<string | undefined> {
  const { database, signing } = parts
  const now = parts.clock.now()
  return database.write(async (tx) => {
    await tx.lock('crl')
    const stored = await tx.query.selectFrom('authority_identity').select('public_key').executeTakeFirst()
    if (stored?.public_key !== signing.publicKey) throw new KeySuccessionError('the database belongs to another key')
    const live = await findLiveFormerKey(tx.query, now)
    if (live === undefined) {
      const phase = (await findSuccession(tx.query))?.phase
      if (phase === 'retired') return undefined
      if (phase !== 'switched') throw new KeySuccessionError('no former key signs a list any more')
      await enterPhase(tx, 'retired')
      await parts.audit.record(tx, { type: 'authority_key_retired', details: { certificates_in_use: 0 } })
      return undefined
    }
    const usable = await countUsable(database, tx.query, live.key_id, now)
    if (usable > 0 && !isForced)
      throw new KeySuccessionError(
        `${usable} certificates of ${live.key_id} are in use: they would be refused once its last list ends; wait, or --yes`,
      )
    await tx.query
      .updateTable('former_keys')
      .set({ lists_until: writeSortable(now) })
      .where('key_id', '=', live.key_id)
      .execute()
    // Instances that have cached its list read the row again.
    await tx.raiseVersion('crl')
    await enterPhase(tx, 'retired')
    await parts.audit.record(tx, {
      type: 'authority_key_retired',
      details: { former_key_id: live.key_id, certificates_in_use: usable },
    })
    return live.key_id
  })
}
