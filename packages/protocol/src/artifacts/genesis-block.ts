import type { JsonValue } from '../canonical/utf8.ts'
import type { ReadBy } from '../reading/schema.ts'
import { arrayOf, closed, nullable, readRecord, required, string, withDefault } from '../reading/shape.ts'
import { identifier, plainText, publicKey, requireOrder, signatures, timestamp } from '../reading/text.ts'
import { asJson, verifyEvery } from '../signing/verify-any.ts'
import type { Verdict } from './verdict.ts'

const names = arrayOf(plainText(128), { max: 64 })

export const genesisBlockShape = closed({
  network_name: required(identifier),
  network_version: required(plainText(32)),
  root_public_key: required(publicKey),
  network_authority: required(
    closed({ public_key: required(publicKey), valid_from: required(timestamp), valid_to: required(timestamp) }),
  ),
  allowed_crypto_suites: withDefault(names, ['ed25519', 'x25519']),
  allowed_transports: withDefault(names, ['quic', 'wireguard']),
  policy_manifest: required(closed({ hash: required(plainText(256)), url: withDefault(nullable(string), null) })),
  bootstrap_anchors: withDefault(
    arrayOf(closed({ id: required(identifier), endpoint: required(plainText(256)) }), { max: 256 }),
    [],
  ),
  signatures: withDefault(signatures, []),
})

/** The first record of a network, signed offline by its root key (protocol/core 4). */
export type GenesisBlock = ReadBy<typeof genesisBlockShape>

export function readGenesisBlock(value: JsonValue): GenesisBlock {
  const block = readRecord(genesisBlockShape, value)
  requireOrder(block.network_authority, 'valid_from', '<', 'valid_to')
  return block
}

/** Every signature must verify under the root key the block itself names; trust in that key is the reader's to pin. */
export async function verifyGenesisBlock(
  block: GenesisBlock,
): Promise<Verdict<'missing_signature' | 'invalid_signature' | 'root_key_reused'>> {
  if (block.signatures.length === 0) return { ok: false, reason: 'missing_signature' }
  // A root key that also signs daily work would make its loss the loss of the network.
  if (block.root_public_key === block.network_authority.public_key) return { ok: false, reason: 'root_key_reused' }
  const valid = await verifyEvery(block, block.root_public_key)
  return valid ? { ok: true } : { ok: false, reason: 'invalid_signature' }
}

export type GenesisChoices = {
  readonly network_name: string
  readonly network_version?: string
  readonly root_public_key: string
  readonly network_authority: GenesisBlock['network_authority']
  readonly policy_manifest?: GenesisBlock['policy_manifest']
  readonly bootstrap_anchors?: GenesisBlock['bootstrap_anchors']
}

/**
 * The hash of zero bytes: the block pins no policy manifest. Every network has its policy from GET /policy. Blocks of
 * earlier releases have `sha256:placeholder` here, and are still read.
 */
export const NO_POLICY_MANIFEST = 'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

/** An unsigned block with every default written out. */
export function draftGenesisBlock(choices: GenesisChoices): GenesisBlock {
  return readGenesisBlock(
    asJson({
      network_version: 'v0.1',
      policy_manifest: { hash: NO_POLICY_MANIFEST, url: null },
      ...choices,
      signatures: [],
    }),
  )
}
