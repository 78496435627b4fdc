import {
  type AuthorityKeys,
  FormError,
  type GenesisBlock,
  JsonError,
  type KeyHistory,
  readGenesisBlock,
  readJson,
} from '@chancery/protocol'
import { UsageError } from '../errors.ts'

/** The identity of a network: its genesis block, and after a key succession its key history. */
export interface NetworkIdentity {
  /** From a place you trust, as object or as its JSON text. */
  readonly genesis: GenesisBlock | string
  readonly keyHistory?: KeyHistory
}

/** Returns the keys of a network. Its signatures are verified by who uses them. */
export function readIdentity({ genesis, keyHistory: history }: NetworkIdentity): AuthorityKeys {
  return { genesis: readGenesis(genesis), ...(history === undefined ? {} : { history }) }
}

export function readGenesis(given: GenesisBlock | string): GenesisBlock {
  if (typeof given !== 'string') return given
  try {
    return readGenesisBlock(readJson(given))
  } catch (error) {
    if (error instanceof FormError || error instanceof JsonError)
      throw new UsageError(`the genesis block cannot be read: ${error.message}`)
    throw error
  }
}
