import { type GenesisBlock, type JsonObject, isJsonObject, readJson } from '@chancery/protocol'
import { genesisFingerprint, keyFingerprint } from '../../pin.ts'
import { isSignedByRoot } from '../../verify-genesis.ts'
import type { Values } from '../../signing/act.ts'

const KEY = /^[A-Za-z0-9+/]{43}=$/
const FINGERPRINT = /^(?:sha256:)?([0-9a-f]{64})$/i

export const isFingerprint = (text: string): boolean => FINGERPRINT.test(compact(text))

const compact = (text: string | undefined): string => (text ?? '').replaceAll(/\s+/g, '')

export function wordsOf(text: string | undefined): string[] {
  return (text ?? '').split(/[\s,]+/).filter((word) => word !== '')
}

export function textOf(values: Values, name: string): string {
  return (values[name] ?? '').trim()
}

export function keysOf(text: string | undefined): string[] {
  const keys = wordsOf(text)
  if (keys.length === 0) throw new Error('Give at least one public key.')
  if (!keys.every((key) => KEY.test(key))) throw new Error('A public key is 44 characters of base64.')
  return keys
}

export function jsonOf(text: string | undefined, name: string): JsonObject {
  let value: unknown
  try {
    value = readJson((text ?? '').trim())
  } catch {
    throw new Error(`${name}: this is not JSON.`)
  }
  if (!isJsonObject(value as JsonObject)) throw new Error(`${name}: this is not a JSON object.`)
  return value as JsonObject
}

/**
 * Returns the root key that the operator received another way: the key itself, or the key of a pasted genesis block
 * whose fingerprint was received.
 */
export function givenRootKey(given: string | undefined, genesisText: string | undefined): string {
  const text = compact(given)
  if (KEY.test(text)) return text
  const hex = FINGERPRINT.exec(text)?.[1]?.toLowerCase()
  if (hex === undefined) throw new Error('Give the root key (44 characters of base64) or its fingerprint.')
  if ((genesisText ?? '').trim() === '') throw new Error('With a fingerprint, add the genesis block of the partner.')
  const genesis = readGenesis(genesisText)
  if (keyFingerprint(genesis.root_public_key) !== hex && genesisFingerprint(genesis) !== `sha256:${hex}`)
    throw new Error('Stop: the fingerprint you were given is not that of this genesis block.')
  return genesis.root_public_key
}

export function readGenesis(text: string | undefined): GenesisBlock {
  const block = jsonOf(text, 'Genesis block')
  const { network_name, root_public_key, network_authority } = block
  const isBlock = typeof network_name === 'string' && typeof root_public_key === 'string'
  if (!isBlock || !isJsonObject(network_authority))
    throw new Error('This is not a genesis block. Save it from /genesis of the partner.')
  return block as unknown as GenesisBlock
}

/** Verifies a pasted genesis block under the key that was received another way. */
export async function checkGenesis(given: string | undefined, text: string | undefined): Promise<void> {
  const genesis = readGenesis(text)
  if (givenRootKey(given, text) !== genesis.root_public_key)
    throw new Error('Stop: the key you were given is not the root key of this genesis block.')
  if (!(await isSignedByRoot(genesis))) throw new Error('Stop: the root key did not sign this genesis block.')
}
