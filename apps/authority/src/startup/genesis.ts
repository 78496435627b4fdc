import { readFile } from 'node:fs/promises'
import { FormError, JsonError, readGenesisBlock, readJsonBytes, verifyGenesisBlock } from '@chancery/protocol'
import type { GenesisBlock } from '@chancery/protocol'
import { StartError } from '@chancery/service-kit'

/** The block that this authority serves, verified with its own root key. The text is stored as it was signed. */
export async function loadGenesis(path: string): Promise<{ readonly block: GenesisBlock; readonly text: string }> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    throw new StartError(`GENESIS_FILE: ${path} cannot be read`, { cause: error })
  }
  const block = parse(bytes, path)
  const verdict = await verifyGenesisBlock(block)
  if (!verdict.ok) throw new StartError(`GENESIS_FILE: ${path} is refused: ${verdict.reason}`)
  return { block, text: bytes.toString('utf8').trim() }
}

function parse(bytes: Uint8Array, path: string): GenesisBlock {
  try {
    return readGenesisBlock(readJsonBytes(bytes))
  } catch (error) {
    if (error instanceof FormError || error instanceof JsonError) {
      throw new StartError(`GENESIS_FILE: ${path} is not a genesis block: ${error.message}`, { cause: error })
    }
    throw error
  }
}
