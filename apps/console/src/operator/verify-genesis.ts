import { type GenesisBlock, type KeyHistory, verifyGenesisBlock, verifyKeyHistory } from '@chancery/protocol'
import { CallError, at, readPublic } from './client.ts'

/** Verifies the signature of the root key on a genesis block. */
export async function isSignedByRoot(genesis: GenesisBlock): Promise<boolean> {
  return (await verifyGenesisBlock(genesis)).ok
}

/** Verifies a changed block: the root signed it and, for another authority key, the history that leads to it. */
export async function isSuccessor(genesis: GenesisBlock, isOtherKey: boolean): Promise<boolean> {
  if (!(await isSignedByRoot(genesis))) return false
  if (!isOtherKey) return true
  try {
    const history = await readPublic<KeyHistory>(at`/key-history`)
    return (await verifyKeyHistory(history, genesis)).ok
  } catch (error) {
    if (error instanceof CallError && error.status === 404) return false
    throw error
  }
}
