import { writeOperatorsFile } from '@chancery/contract'
import { type Instant, type Signer, writeInstant } from '@chancery/protocol'
import { stringify } from 'smol-toml'
import { addressOf } from '../../connection/connection.ts'
import type { Choices } from './choices.ts'
import type { HomeFiles } from './home.ts'

/** Ids of a local network (protocol/core 4). */
export const KEY_IDS = { root: 'rs-local', authority: 'na-local', operator: 'operator-local' } as const

/** Settings of the service, for `authority start --env-file`: literal values, absolute paths. */
export function settingsText(choices: Choices, files: HomeFiles): string {
  const values: readonly (readonly [string, string])[] = [
    ['GENESIS_FILE', files.genesis],
    ['NA_PRIVATE_KEY_FILE', `${files.authority}.key`],
    ['NA_KEY_ID', KEY_IDS.authority],
    ['OPERATOR_PUBLIC_KEYS_JSON', files.operators],
    ['DB_PATH', files.database],
    ['HOST', choices.host],
    ['PORT', choices.port],
    // Nodes ask for decisions with their own key, so that no program needs an operator key only to ask.
    ['NA_NODE_DECISIONS', 'own'],
  ]
  const head = `# Settings of the authority of ${choices.network}. One NAME=value per line; values are literal, without quotes.`
  return `${[head, ...values.map(([name, value]) => `${name}=${value}`)].join('\n')}\n`
}

/** Returns the operators of a new authority, each with all rights. */
export function operatorsText(signers: readonly Pick<Signer, 'keyId' | 'publicKey'>[], now: Instant): string {
  const added_at = writeInstant(now)
  const operators = signers.map(
    ({ keyId, publicKey }) => ({ key_id: keyId, public_key: publicKey, tier: 'privileged', added_at }) as const,
  )
  return writeOperatorsFile({ operators, removed: [] })
}

/** Returns the configuration for other commands; its genesis block pins the authority. */
export function configText(choices: Choices, files: HomeFiles): string {
  const document = {
    network: { name: choices.network, version: 'v0.1', na_endpoint: addressOf(choices.host, choices.port) },
    paths: {
      home: choices.home,
      genesis: files.genesis,
      na_private_key: `${files.authority}.key`,
      operator_private_key: `${files.operator}.key`,
      operator_public_key: `${files.operator}.pub`,
      db: files.database,
    },
    na: { key_id: KEY_IDS.authority, host: choices.host, port: Number(choices.port) },
    operator: { key_id: KEY_IDS.operator },
  }
  return `# Configuration of the chancery commands for ${choices.network}. It contains no secret.\n${stringify(document)}`
}
