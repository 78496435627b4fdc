import { type AuthorityKeys, type GenesisBlock, verifyKeyHistory } from '@chancery/protocol'
import { RefusedError } from '@chancery/sdk'
import { authority } from './authority.ts'

/**
 * Returns the genesis block with the key history that its root signed, for records from before a key succession;
 * undefined without a succession. Needed only when the current key did not sign a record.
 */
export async function withFormerKeys(genesis: GenesisBlock): Promise<AuthorityKeys | undefined> {
  try {
    const history = await authority().sovereign.keyHistory()
    return (await verifyKeyHistory(history, genesis)).ok ? { genesis, history } : undefined
  } catch (error) {
    if (error instanceof RefusedError && error.status === 404) return undefined
    throw error
  }
}
