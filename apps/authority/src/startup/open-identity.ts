import { type Clock, type Log, StartError } from '@chancery/service-kit'
import type { Database, Reader } from '../database/database.ts'
import type { AuthoritySettings } from '../settings/authority-settings.ts'
import type { FindKey } from '../signing/find-key.ts'
import type { Identity } from '../signing/identity.ts'
import type { KeyCheck } from '../signing/key-check.ts'
import { openSigner } from '../signing/key-providers.ts'
import { loadOwnKeys } from '../signing/own-keys.ts'
import { type SignedDocuments, findNextIdentity, findStoredIdentity } from '../signing/stored-identity.ts'
import { requireOwnKey } from './check-keys.ts'
import { loadGenesis } from './genesis.ts'

export interface IdentityOptions {
  /** Allows the new key on a database of the former one, for the command that transfers it. */
  readonly isSucceeding?: true
  /** With isSucceeding: the documents of the root for the key to sign with. Undefined for the key in use. */
  readonly succeedTo?: (db: Reader) => Promise<SignedDocuments | undefined>
}

/** The network and the keys of this authority, from its files. */
export async function loadIdentity(settings: AuthoritySettings, log: Log): Promise<Identity> {
  const { block: genesis, text: genesisText } = await loadGenesis(settings.genesisFile)
  const signer = await openSigner(settings.keySource, settings.keyId, log)
  const { formerKeySource } = settings
  const formerSigner = formerKeySource === undefined ? undefined : await openSigner(formerKeySource, 'former', log)
  requireOwnKey(settings, genesis, signer)
  const keys = await loadOwnKeys(settings.keyHistoryFile, genesis, signer, formerSigner)
  return { network: { name: genesis.network_name, genesis, genesisText }, signer, keys }
}

export interface IdentityParts {
  readonly given: Identity
  readonly findKey: FindKey
  readonly keyCheck: KeyCheck
  readonly clock: Clock
}

/** Who signs on this database: the key of the settings, a later one after a switch, or the next one for the switch. */
export async function chooseIdentity(
  database: Database,
  { isSucceeding, succeedTo }: IdentityOptions,
  { given, findKey, clock }: IdentityParts,
): Promise<Identity> {
  const present = (await findStoredIdentity(database.read, given, findKey, clock.now())) ?? given
  const documents = isSucceeding === true ? await succeedTo?.(database.read) : undefined
  if (documents === undefined) return present
  const next = await findNextIdentity(present, documents, findKey)
  if (next !== undefined) return next
  throw new StartError(
    `the next key ${documents.key_id} cannot be used: its key must be where the settings say that keys are, and the root key must have signed its block and a newer history`,
  )
}
