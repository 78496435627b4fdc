import { setImmediate as nextTurn } from 'node:timers/promises'
import { type PartyKeys, instantOf } from '@chancery/protocol'
import type { RecognitionTreatiesParts } from './parts.ts'
import { listTreatiesFor } from './queries.ts'

const TREATIES_PER_LOOP_TURN = 32

/**
 * Returns the keys that may sign for a sovereign: K(s) and T(s) of protocol/trust-operations 3.5. A treaty counts when
 * it is in force, grants at least one role and has our own valid signature, because a row written directly in the
 * database must not add a party. The own key never signs for another.
 */
export async function findPartyKeys(parts: RecognitionTreatiesParts, sovereign_id: string): Promise<PartyKeys> {
  const own = parts.network.name
  if (sovereign_id === own) return { keys: parts.keys.all, hasTreaty: true }
  const now = parts.clock.now()
  const keys = new Set<string>()
  let hasTreaty = false
  const rows = await listTreatiesFor(parts.database, own, sovereign_id)
  for (const [at, row] of rows.entries()) {
    // There may be any number of treaties for a sovereign, and each costs a verification. The event loop continues in
    // between.
    if (at % TREATIES_PER_LOOP_TURN === TREATIES_PER_LOOP_TURN - 1) await nextTurn()
    const treaty = await parts.verifiedTreaties.read(row)
    if (treaty === undefined) continue
    const isInForce = instantOf(treaty.valid_from) <= now && now < instantOf(treaty.expires_at)
    if (!isInForce || treaty.status !== 'active' || treaty.scope.allowed_roles.length === 0) continue
    hasTreaty = true
    for (const key of treaty.subject_public_keys) keys.add(key)
  }
  for (const key of parts.keys.all) keys.delete(key)
  return { keys: [...keys], hasTreaty }
}
