import { sovereign } from '@chancery/contract'
import { FormError, field, readCrl, readGenesisBlock, readKeyHistory, shape } from '@chancery/protocol'
import type { Crl, GenesisBlock, JsonValue, KeyHistory } from '@chancery/protocol'
import { json, known } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'

/** GET /sovereign.json (protocol/core 19). Unsigned: use the genesis block for trust, never this document. */
export interface SovereignMetadata {
  readonly sovereign_id: string
  readonly network_name: string
  readonly network_version: string
  readonly endpoint: string
  readonly network_authority: { readonly public_key: string; readonly valid_from: string; readonly valid_to: string }
  readonly root_public_key: string
  readonly policy_manifest: { readonly hash: string; readonly url: string | null } | null
  readonly bootstrap_anchor_count: number | null
  readonly supported_surfaces: Readonly<Record<string, string>>
}

export interface SovereignApi {
  /** The block as served; check it with protocol's verifyGenesisBlock and against the root key you trust. */
  genesis(options?: CallOptions): Promise<GenesisBlock>
  metadata(options?: CallOptions): Promise<SovereignMetadata>
  /** Former keys as served; check it with protocol's verifyKeyHistory against the block you trust. */
  keyHistory(options?: CallOptions): Promise<KeyHistory>
  /**
   * Returns the newest block and history as served; verify both with protocol's verifySuccession against your stored
   * block.
   */
  keySuccession(options?: CallOptions): Promise<KeySuccession>
}

/** GET /key-succession. Only `genesis` and `key_history` are signed by the root; the rest is a hint. */
export interface KeySuccession {
  /** announced: another key signs until the switch. */
  readonly phase: string
  /** The key that signs now. */
  readonly current_public_key: string
  readonly genesis: GenesisBlock
  readonly key_history: KeyHistory
  /** While announced: the first list of the next key, signed by it, for gateways. */
  readonly first_list: Crl | null
}

const readSuccession = known({
  phase: shape.required(shape.string),
  current_public_key: shape.required(field.publicKey),
  genesis: shape.required((value: JsonValue) => readGenesisBlock(value)),
  key_history: shape.required((value: JsonValue) => readKeyHistory(value)),
  first_list: shape.withDefault(
    shape.nullable((value: JsonValue) => readCrl(value)),
    null,
  ),
})

const word = shape.required(shape.string)

const readMetadata = known({
  sovereign_id: word,
  network_name: word,
  network_version: word,
  endpoint: word,
  network_authority: shape.required(
    known({
      public_key: shape.required(field.publicKey),
      valid_from: shape.required(field.timestamp),
      valid_to: shape.required(field.timestamp),
    }),
  ),
  root_public_key: shape.required(field.publicKey),
  policy_manifest: shape.withDefault(
    shape.nullable(known({ hash: word, url: shape.withDefault(shape.nullable(shape.string), null) })),
    null,
  ),
  bootstrap_anchor_count: shape.withDefault(shape.nullable(shape.integer(0, Number.MAX_SAFE_INTEGER)), null),
  supported_surfaces: shape.required(readAddresses),
})

function readAddresses(value: JsonValue, place: string): Readonly<Record<string, string>> {
  const addresses = shape.object(value, place)
  for (const [name, address] of Object.entries(addresses)) {
    if (typeof address !== 'string') throw new FormError(`${place}.${name}`, 'a string is needed')
  }
  return addresses as Readonly<Record<string, string>>
}

export function sovereignApi({ call }: Connection): SovereignApi {
  return {
    genesis: (options) => call({ route: sovereign.genesis, read: json(readGenesisBlock), options }),
    metadata: (options) => call({ route: sovereign.metadata, read: json((value) => readMetadata(value, '')), options }),
    keyHistory: (options) => call({ route: sovereign.keyHistory, read: json(readKeyHistory), options }),
    keySuccession: (options) =>
      call({ route: sovereign.keySuccession, read: json((value) => readSuccession(value, '')), options }),
  }
}
