import { field, readCrl, readGenesisBlock, readKeyHistory, shape } from '@chancery/protocol'
import type { AnswerOf } from '../form.ts'
import { orNull, record, text, textOrNull, wholeOrNull } from '../members.ts'
import { type Routes, routes } from '../route.ts'

const { mapOf, nullable, open, required, withDefault } = shape

const genesisBlock = record('genesis-block', readGenesisBlock)
const keyHistory = record('key-history', readKeyHistory)

const facts = {
  genesis: {
    id: 'GET /genesis',
    access: 'public',
    limit: 'public',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Genesis block',
    purpose: 'Gives the genesis block signed by the root key.',
    answer: genesisBlock,
    gateway: { operation: 'public-get-genesis', group: 'network' },
  },
  metadata: {
    id: 'GET /sovereign.json',
    access: 'public',
    limit: 'public',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Sovereign metadata',
    purpose: 'Gives the identity, keys and public addresses of this sovereign.',
    answer: open({
      sovereign_id: text,
      network_name: text,
      network_version: text,
      endpoint: text,
      network_authority: required(
        open({
          public_key: required(field.publicKey),
          valid_from: required(field.timestamp),
          valid_to: required(field.timestamp),
        }),
      ),
      root_public_key: required(field.publicKey),
      policy_manifest: orNull({ hash: text, url: textOrNull }),
      bootstrap_anchor_count: wholeOrNull,
      supported_surfaces: required(mapOf(shape.string)),
    }),
    gateway: { operation: 'public-sovereign-metadata', group: 'network' },
  },
  keyHistory: {
    id: 'GET /key-history',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Former keys',
    purpose: 'Gives the keys this authority had before, signed by the root key; 404 when it had none.',
    errors: ['key_history_not_found'],
    answer: keyHistory,
  },
  keySuccession: {
    id: 'GET /key-succession',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Newest block of the root',
    purpose:
      'Gives the newest genesis block and key history, announced or in force, for followers to verify by the root key; 404 when there never was a succession.',
    errors: ['key_history_not_found'],
    answer: open({
      /** announced: another key signs until the switch. */
      phase: text,
      /** The key that signs now. */
      current_public_key: required(field.publicKey),
      genesis: required(genesisBlock),
      key_history: required(keyHistory),
      /** While announced: the first list of the next key, signed by it, for gateways. */
      first_list: withDefault(nullable(record('crl', readCrl)), null),
    }),
  },
} as const

/** Who this network is: the block signed by the root key and a summary for peers (protocol/core 4, 19). */
export const sovereign: Routes<typeof facts> = routes(facts)

/** Unsigned: use the genesis block for trust, never this document (protocol/core 19). */
export type SovereignMetadata = AnswerOf<typeof sovereign.metadata>
/** Only `genesis` and `key_history` are signed by the root; the rest is a hint. */
export type KeySuccession = AnswerOf<typeof sovereign.keySuccession>
