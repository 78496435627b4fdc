import { setImmediate as nextTurn } from 'node:timers/promises'
import { instantOf } from '@chancery/protocol'
import type { PartyKeys } from '@chancery/protocol'
import type { Office } from '../../office.ts'
import { listTreatiesFor } from './store.ts'

const TREATIES_PER_TURN = 32

/**
 * The keys that may sign for a sovereign: K(s) and T(s) of protocol/trust-operations 3.5. A treaty vouches when it is
 * in force, grants at least one role and carries our own signature: a row written behind our back must not make anybody
 * a party. The own key never signs for another.
 */
export async function vouchedKeys(office: Office, sovereign_id: string): Promise<PartyKeys> {
  const own = office.genesis.network_name
  if (sovereign_id === own) return { keys: office.ownKeys.all, isVouched: true }
  const now = office.clock.now()
  const keys = new Set<string>()
  let isVouched = false
  const rows = await listTreatiesFor(office.store, own, sovereign_id)
  for (const [at, row] of rows.entries()) {
    // A sovereign may hold any number of treaties with another; each costs a verification, so others get a turn.
    if (at % TREATIES_PER_TURN === TREATIES_PER_TURN - 1) await nextTurn()
    const treaty = await office.verifiedTreaties.read(row)
    if (treaty === undefined) continue
    const isInForce = instantOf(treaty.valid_from) <= now && now < instantOf(treaty.expires_at)
    if (!isInForce || treaty.status !== 'active' || treaty.scope.allowed_roles.length === 0) continue
    isVouched = true
    for (const key of treaty.subject_public_keys) keys.add(key)
  }
  for (const key of office.ownKeys.all) keys.delete(key)
  return { keys: [...keys], isVouched }
}
