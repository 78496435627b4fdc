import { readFile } from 'node:fs/promises'
import {
  readGenesisBlock,
  readJson,
  readPrivateKeyFile,
  seedSigner,
  verifyGenesisBlock,
  type GenesisBlock,
  type Signer,
} from '@chancery/protocol'
import { RequestError } from '../errors.ts'

/** Returns the genesis block of a network from a file of `chancery init`. Its signatures must be valid. */
export async function readGenesisFile(path: string): Promise<GenesisBlock> {
  const genesis = readGenesisBlock(readJson(await readFile(path, 'utf8')))
  const verdict = await verifyGenesisBlock(genesis)
  if (!verdict.ok) throw new RequestError(`the genesis block is not valid: ${verdict.reason}`)
  return genesis
}

/** Returns a private key from a file of `chancery keygen`. Errors never contain the text of the file. */
export async function readSignerFile(path: string, keyId?: string): Promise<Signer> {
  const file = readPrivateKeyFile(await readFile(path, 'utf8'))
  if (file === undefined) throw new RequestError('the file does not hold a private key')
  return seedSigner(keyId ?? file.keyId ?? 'key', file.value)
}

/** What needs files: import it as `@chancery/sdk/nodejs`. The rest of the library also runs in browsers. */
export { FileNodeStore } from './file-node-store.ts'
export { FileOutbox, InUseError } from './file-outbox.ts'
export { expressNodeProof, fastifyNodeProof, httpNodeProof } from './node-proof.ts'
export type { HttpRequestVerifierOptions, SignedMessage } from './node-proof.ts'
export type * from '../record-types.ts'
