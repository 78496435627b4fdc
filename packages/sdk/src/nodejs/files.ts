import { readFile } from 'node:fs/promises'
import { readGenesisBlock, readJson, readPrivateKeyFile, seedSigner, verifyGenesisBlock } from '@chancery/protocol'
import type { GenesisBlock, Signer } from '@chancery/protocol'
import { RequestError } from '../errors.ts'

/** The genesis block of a network from a file, as `chancery init` wrote it. It must hold in itself. */
export async function readGenesisFile(path: string): Promise<GenesisBlock> {
  const genesis = readGenesisBlock(readJson(await readFile(path, 'utf8')))
  const verdict = await verifyGenesisBlock(genesis)
  if (!verdict.ok) throw new RequestError(`the genesis block is not valid: ${verdict.reason}`)
  return genesis
}

/** A private key from a file, as `chancery keygen` wrote it. The text of the file is in no error. */
export async function readSignerFile(path: string, keyId?: string): Promise<Signer> {
  const file = readPrivateKeyFile(await readFile(path, 'utf8'))
  if (file === undefined) throw new RequestError('the file does not hold a private key')
  return seedSigner(keyId ?? file.keyId ?? 'key', file.value)
}
