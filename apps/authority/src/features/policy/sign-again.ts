import type { PolicyParts } from './parts.ts'
import type { Tx } from '../../database/database.ts'
import { raiseVersion } from '../../database/locks/domains.ts'
import { findActivePolicy } from './queries.ts'
import { signStoredAgain } from './versions.ts'

/**
 * Signs the active manifest with the current key, dated now: the same id and terms. The stored one is verified first.
 */
export async function signPolicyAgain(tx: Tx, parts: PolicyParts): Promise<void> {
  await parts.database.lockDomain(tx, 'policy')
  const active = await findActivePolicy(tx)
  if (active === undefined) return
  await signStoredAgain(tx, parts, { stored: active, previous: active })
  await raiseVersion(tx, 'policy')
}
