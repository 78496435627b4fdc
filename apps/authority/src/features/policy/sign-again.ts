import type { PolicyParts } from './parts.ts'
import type { Transaction } from '../../database/database.ts'
import { findActivePolicy } from './queries.ts'
import { signStoredAgain } from './versions.ts'

/**
 * Signs the active manifest with the current key, dated now: the same id and terms. The stored one is verified first.
 */
export async function signPolicyAgain(tx: Transaction, parts: PolicyParts): Promise<void> {
  await tx.lock('policy')
  const active = await findActivePolicy(tx.query)
  if (active === undefined) return
  await signStoredAgain(tx, parts, { stored: active, previous: active })
  await tx.raiseVersion('policy')
}
