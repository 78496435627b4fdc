import {
  instantOf,
  readGenesisBlock,
  readJson,
  readKeyHistory,
  readTrustedPublicKey,
  verifyGenesisBlock,
  verifyKeyHistory,
  writeSortable,
} from '@chancery/protocol'
import type { GenesisBlock, Instant, KeyHistory } from '@chancery/protocol'
import type { Reader } from '../database/database.ts'
import type { FindKey } from './find-key.ts'
import { type Identity, type Network, type OwnKeys, ownKeysOf } from './own-keys.ts'
import { findSuccession } from './newest-block.ts'

/** What the root signed for the next key. */
export interface SignedDocuments {
  readonly key_id: string
  readonly genesis_json: string
  readonly history_json: string
}

/** What the root signed for the key that the database belongs to, if it is newer than what the settings have. */
export interface StoredDocuments extends Signed {
  readonly documents: SignedDocuments
}

/**
 * The identity that the database belongs to: the given one, or a later one that the same root key signed. So an instance
 * follows a switch, and starts with its former settings after it. Undefined when this instance cannot sign for it.
 */
export async function findStoredIdentity(
  db: Reader,
  given: Identity,
  findKey: FindKey,
  now: Instant,
): Promise<Identity | undefined> {
  const owner = await findOwner(db)
  const signed = await findStoredDocuments(db, owner, given)
  if (signed !== undefined)
    return identityOf(signed, signed.documents, given, { findKey, former: await findLiveFormerKey(db, now) })
  return owner === undefined || owner.public_key === given.keys.current ? given : undefined
}

/** For commands that open no key: also the documents of a key that is not reachable here. */
export async function findLaterDocuments(db: Reader, given: GivenDocuments): Promise<StoredDocuments | undefined> {
  return findStoredDocuments(db, await findOwner(db), given)
}

async function findStoredDocuments(
  db: Reader,
  owner: Owner | undefined,
  given: GivenDocuments,
): Promise<StoredDocuments | undefined> {
  if (owner === undefined) return undefined
  // The row of a succession may be about the next key, or about a newer block of the present one.
  for (const documents of [await findSuccession(db), documentsOf(owner)]) {
    const signed = documents === undefined ? undefined : await verifyLater(given, documents)
    if (documents === undefined || signed?.block.network_authority.public_key !== owner.public_key) continue
    return { ...signed, documents }
  }
  return undefined
}

type Owner = { readonly public_key: string } & { readonly [Name in keyof SignedDocuments]?: string | null }

function findOwner(db: Reader): Promise<Owner | undefined> {
  return db.selectFrom('authority_identity').selectAll().where('id', '=', 1).executeTakeFirst()
}

/** What the root signed for the key in use, as the last switch stored it. */
function documentsOf({ key_id, genesis_json, history_json }: Owner): SignedDocuments | undefined {
  // A database that an earlier release wrote last lacks the columns.
  return typeof key_id !== 'string' || typeof genesis_json !== 'string' || typeof history_json !== 'string'
    ? undefined
    : { key_id, genesis_json, history_json }
}

/** The former key whose certificates are still in use. There is at most one. */
export async function findLiveFormerKey(
  db: Reader,
  now: Instant,
): Promise<{ readonly key_id: string; readonly public_key: string; readonly lists_until: string } | undefined> {
  return db.selectFrom('former_keys').selectAll().where('lists_until', '>', writeSortable(now)).executeTakeFirst()
}

/** The identity after the switch to documents of the root, with the key of `given` as the former one. */
export async function findNextIdentity(
  given: Identity,
  documents: SignedDocuments,
  findKey: FindKey,
): Promise<Identity | undefined> {
  const signed = await verifyLater(given, documents)
  const { keyId, publicKey } = given.signer
  const isSame = signed?.block.network_authority.public_key === publicKey
  const former = isSame ? undefined : { key_id: keyId, public_key: publicKey }
  return signed === undefined ? undefined : identityOf(signed, documents, given, { findKey, former })
}

interface Signed {
  readonly block: GenesisBlock
  readonly history: KeyHistory
}

/** The block and the history of the settings, or of an identity. */
interface GivenDocuments {
  readonly network: Pick<Network, 'genesis'>
  readonly keys: Pick<OwnKeys, 'historyText'>
}

/** The documents, if the root key of the given block signed them for this network, after those that are given. */
export async function verifyLater(given: GivenDocuments, documents: SignedDocuments): Promise<Signed | undefined> {
  const { genesis } = given.network
  const block = readGenesisBlock(readJson(documents.genesis_json))
  const history = readKeyHistory(readJson(documents.history_json))
  const isOfRoot = block.root_public_key === genesis.root_public_key && block.network_name === genesis.network_name
  if (!isOfRoot || readTrustedPublicKey(block.network_authority.public_key) === undefined) return undefined
  if (!(await verifyGenesisBlock(block)).ok || !(await verifyKeyHistory(history, block)).ok) return undefined
  const { historyText } = given.keys
  const before = historyText === undefined ? undefined : readKeyHistory(readJson(historyText)).issued_at
  return before !== undefined && instantOf(history.issued_at) <= instantOf(before) ? undefined : { block, history }
}

async function identityOf(
  { block, history }: Signed,
  { key_id, genesis_json, history_json }: SignedDocuments,
  given: Identity,
  {
    findKey,
    former,
  }: {
    readonly findKey: FindKey
    readonly former: { readonly key_id: string; readonly public_key: string } | undefined
  },
): Promise<Identity | undefined> {
  const find: FindKey = async (keyId, publicKey) =>
    publicKey === given.signer.publicKey ? { ...given.signer, keyId } : findKey(keyId, publicKey)
  const signer = await find(key_id, block.network_authority.public_key)
  const formerSigner = former === undefined ? undefined : await find(former.key_id, former.public_key)
  if (signer === undefined || (former !== undefined && formerSigner === undefined)) return undefined
  return {
    network: { name: block.network_name, genesis: block, genesisText: genesis_json },
    signer,
    keys: ownKeysOf({ history, text: history_json }, signer, formerSigner),
  }
}
