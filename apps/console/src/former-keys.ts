import { type AuthorityKeys, type GenesisBlock, verifyKeyHistory } from '@chancery/protocol'
import { type Client, RefusedError, createClient } from '@chancery/sdk'

let shared: Client | undefined

/**
 * Client of the authority that served this page, for public calls only. The operator page creates a separate client.
 */
export function authority(): Client {
  shared ??= createClient({ url: location.origin })
  return shared
}

/** Returns the message of an error of the library. */
export function explain(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

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
