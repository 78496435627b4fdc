import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { FormError, type GenesisBlock, JsonError, readJsonBytes } from '@chancery/protocol'
import { StartError, createLog } from '@chancery/service-kit'
import { listTables } from '../database/copy/unfinished-copy.ts'
import type { Database } from '../database/database.ts'
import { GENESIS_PART, HISTORY_PART, MANIFEST } from '../recovery/manifest.ts'
import type { AuthoritySettings } from '../settings/authority-settings.ts'
import { keyFinder } from '../signing/find-key.ts'
import { openSigner } from '../signing/key-providers.ts'
import { type AuthoritySigner, type OwnKeys, ownKeysOf } from '../signing/own-keys.ts'
import { type StoredDocuments, findLaterDocuments, verifyLater } from '../signing/stored-identity.ts'

/** What to do after `rotate-key`, which changes no settings. */
export const AFTER_ROTATION =
  'Write the key in use, its block and its history to the settings: docs/operate/keys.md#replace-the-key.'

/** The keys of an authority, from public documents only. */
export interface PublicKeys {
  readonly genesis: GenesisBlock
  readonly ownKeys: OwnKeys
}

export interface LaterKeys extends PublicKeys {
  readonly keyId: string
  readonly genesisText: string
}

/**
 * The keys that the instances use, where they are later than those of the settings: after `rotate-key`. They count only if
 * the root key of the settings signed them.
 */
export async function findLaterKeys(
  database: Database,
  { genesis, ownKeys }: PublicKeys,
): Promise<LaterKeys | undefined> {
  // An empty database has no owner, and one of a release before 0.2.0 may know no succession.
  const tables = await listTables(database)
  if (!tables.includes('authority_identity') || !tables.includes('key_succession')) return undefined
  const later = await findLaterDocuments(database.read, { network: { genesis }, keys: ownKeys })
  if (later === undefined) return undefined
  return laterKeys(later)
}

/** As {@link findLaterKeys}, by the documents in a backup: an empty database has none. */
export async function findKeysOfBackup(
  folder: string,
  { genesis, ownKeys }: PublicKeys,
): Promise<LaterKeys | undefined> {
  try {
    const { key_id } = readJsonBytes(await readFile(join(folder, MANIFEST))) as { readonly key_id?: unknown }
    const documents = {
      key_id: String(key_id),
      genesis_json: await readFile(join(folder, GENESIS_PART), 'utf8'),
      history_json: await readFile(join(folder, HISTORY_PART), 'utf8'),
    }
    const signed = await verifyLater({ network: { genesis }, keys: ownKeys }, documents)
    return signed === undefined ? undefined : laterKeys({ ...signed, documents })
  } catch (error) {
    // The reader of the backup reports what is wrong with it. A backup from before a rotation has no history.
    const isUnfit = error instanceof JsonError || error instanceof FormError
    if (isUnfit || (error instanceof Error && 'code' in error && error.code === 'ENOENT')) return undefined
    throw error
  }
}

function laterKeys({ block, history, documents }: StoredDocuments): LaterKeys {
  const current = { keyId: documents.key_id, publicKey: block.network_authority.public_key }
  return {
    keyId: current.keyId,
    genesis: block,
    genesisText: documents.genesis_json,
    ownKeys: ownKeysOf({ history, text: documents.history_json }, current, undefined),
  }
}

/** The key of the database, for a command that signs: a backup signed by an unknown key could never be restored. */
export async function openKeyInUse(
  { keySource, keyId }: AuthoritySettings,
  authority: Pick<LaterKeys, 'keyId' | 'ownKeys'>,
): Promise<AuthoritySigner> {
  const log = createLog({ level: 'error', format: 'text' })
  const signer = await openSigner(keySource, keyId, log)
  const { current } = authority.ownKeys
  if (signer.publicKey === current) return signer
  if (authority.keyId === keyId)
    throw new StartError(`${keySource.setting}: the key is not the network_authority key of the genesis block`)
  const later = await keyFinder([keySource], log)(authority.keyId, current)
  if (later !== undefined) return later
  throw new StartError(
    `${keySource.setting}: the database belongs to ${authority.keyId}, whose key is not next to the one of the settings. ${AFTER_ROTATION}`,
  )
}
