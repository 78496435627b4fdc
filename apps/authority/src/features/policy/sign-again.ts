import { draftPolicyManifest, readInstant, writeInstant, writeJson, writeSortable } from '@chancery/protocol'
import type { Office } from '../../office.ts'
import { dateAfter } from '../../signing/dating.ts'
import { seal } from '../../signing/seal.ts'
import type { Tx } from '../../store/database.ts'
import { bumpHead } from '../../store/heads.ts'
import { findActivePolicy } from './store.ts'
import { verifyStored } from './versions.ts'

/** The active manifest under the present key, dated now: the same id and terms. The stored one is verified first. */
export async function signPolicyAgain(tx: Tx, office: Office): Promise<void> {
  await office.store.lockHead(tx, 'policy')
  const active = await findActivePolicy(tx)
  if (active === undefined) return
  const {
    policy_id,
    issued_at: _date,
    issued_by: _key,
    signatures: _old,
    ...terms
  } = await verifyStored(office, active)
  const now = dateAfter(office, 'policy', readInstant(active.created_at))
  const draft = draftPolicyManifest({ policy_id, issued_at: writeInstant(now), issued_by: office.signer.keyId, terms })
  const policy_json = writeJson(await seal(office, draft))
  await tx
    .updateTable('policy_versions')
    .set({ policy_json, created_at: writeSortable(now) })
    .where('policy_id', '=', policy_id)
    .execute()
  await bumpHead(tx, 'policy')
}
