import { sovereign } from '@chancery/contract'
import { type GenesisBlock, verifyGenesisBlock } from '@chancery/protocol'
import { UnreachableError } from '@chancery/sdk'
import type { ClientOptions } from '@chancery/sdk/authority'
import { openConnection, routeApi } from '@chancery/sdk/internal'
import { OtherNetworkError } from '../errors/other-network.ts'

type Fetch = NonNullable<ClientOptions['fetch']>

/**
 * Returns a fetch that asks the server for its genesis block first, and sends nothing more to the authority of another
 * network. Without it, a command would print the figures of any server at the address. After a failure the server
 * is asked again: another one may listen by then.
 */
export function fetchFromNetwork(url: string, expected: GenesisBlock): Fetch {
  let checked: Promise<void> | undefined
  return async (address, init) => {
    try {
      checked ??= requireNetwork(url, expected)
      await checked
      return await globalThis.fetch(address, init)
    } catch (error) {
      checked = undefined
      throw error
    }
  }
}

/** The root names the network. Its authority may have a newer key than the pinned block. */
async function requireNetwork(url: string, expected: GenesisBlock): Promise<void> {
  const served = await routeApi(sovereign, openConnection({ url, retry: false }))
    .genesis()
    .catch((error: unknown) => {
      // As the refused connection of the call itself, which is then reported and repeated by its own rules.
      throw error instanceof UnreachableError
        ? Object.assign(new Error('no answer'), { code: error.systemCode })
        : error
    })
  const isSame = served.root_public_key === expected.root_public_key && served.network_name === expected.network_name
  if (isSame && (await verifyGenesisBlock(served)).ok) return
  const why = isSame
    ? `serves a genesis block of ${expected.network_name} that does not verify`
    : `is the authority of another network: ${served.network_name} (root key ${served.root_public_key}), not ${expected.network_name} (root key ${expected.root_public_key})`
  throw new OtherNetworkError(`${url} ${why}`)
}
