import { readFile } from 'node:fs/promises'
import {
  readAttestation,
  readGenesisBlock,
  readJson,
  readPrivateKeyFile,
  seedSigner,
  verifyGenesisBlock,
  type Attestation,
  type GenesisBlock,
  type Signer,
} from '@chancery/protocol'
import { UsageError } from '../errors.ts'

/** Returns the genesis block of a network from a file of `chancery init`. Its signatures must be valid. */
export async function readGenesisFile(path: string): Promise<GenesisBlock> {
  const genesis = readGenesisBlock(readJson(await readFile(path, 'utf8')))
  const verdict = await verifyGenesisBlock(genesis)
  if (!verdict.ok) throw new UsageError(`the genesis block is not valid: ${verdict.reason}`)
  return genesis
}

/** Returns a private key from a file of `chancery keygen`. Errors never contain the text of the file. */
export async function readSignerFile(path: string, keyId?: string): Promise<Signer> {
  const file = readPrivateKeyFile(await readFile(path, 'utf8'))
  if (file === undefined) throw new UsageError('the file does not hold a private key')
  return seedSigner(keyId ?? file.keyId ?? 'key', file.value)
}

/** Returns an attestation from a file, in its form. Who uses it verifies it. */
export async function readAttestationFile(path: string): Promise<Attestation> {
  return readAttestation(readJson(await readFile(path, 'utf8')))
}

/** What needs files or node:http: import it as `@chancery/sdk/nodejs`. The rest of the library also runs in browsers. */
export { FileNodeStore } from './file-node-store.ts'
export { FileOutbox, StoreInUseError } from './file-outbox.ts'
export { authenticate, authorize } from './node-http.ts'
export type { AllowedAnswer } from '../node/answer.ts'
export type { NodeDocument, NodeStore } from '../node/followed.ts'
export type { Outbox, OutboxContent, OutboxEntry } from '../governed/outbox.ts'
export type { Authorizer, Requirement } from '../request-proof/authorizer.ts'
export type { Caller } from '../request-proof/caller.ts'
export type { Attestation, GenesisBlock, Signer } from '@chancery/protocol'
