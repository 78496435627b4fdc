import { type Log, StartError } from '@chancery/service-kit'
import {
  findPlatformFaults,
  readTrustedPublicKey,
  seedSigner,
  toUtf8,
  verifySignature,
  writeSortable,
  toBase64,
} from '@chancery/protocol'
import type { GenesisBlock, Instant } from '@chancery/protocol'
import { sharedPublicKeys } from '../auth/operator-keys.ts'
import type { AuthoritySettings } from '../settings/authority-settings.ts'
import { isInsideWindow } from '../signing/sign-record.ts'
import { findLiveFormerKey } from '../signing/stored-identity.ts'
import type { AuthoritySigner, OwnKeys } from '../signing/own-keys.ts'
import type { Database } from '../database/database.ts'

export function requireOwnKey(
  { keySource }: Pick<AuthoritySettings, 'keySource'>,
  genesis: GenesisBlock,
  signer: AuthoritySigner,
): void {
  if (signer.publicKey !== genesis.network_authority.public_key)
    throw new StartError(`${keySource.setting}: the key is not the network_authority key of the genesis block`)
}

/** Checks that must pass before the first request (protocol/core 2). Incomplete security settings stop the start. */
export async function checkStartKeys(
  settings: AuthoritySettings,
  genesis: GenesisBlock,
  signer: AuthoritySigner,
  now: Instant,
  log: Log,
): Promise<void> {
  if (
    readTrustedPublicKey(genesis.root_public_key) === undefined ||
    readTrustedPublicKey(signer.publicKey) === undefined
  ) {
    throw new StartError('GENESIS_FILE: a key of the genesis block is weak')
  }
  const reserved = [genesis.root_public_key, signer.publicKey]
  for (const operator of settings.operators.values()) {
    // One key must not have two roles: losing it would compromise both.
    if (reserved.includes(operator.publicKey))
      throw new StartError(`OPERATOR_PUBLIC_KEYS_JSON: ${operator.key_id} is the root or authority key`)
  }
  for (const ids of sharedPublicKeys(settings.operators)) {
    log.warn('operator key ids share one public key: revoking one revokes all of them', { key_ids: ids })
  }
  if (!isInsideWindow(genesis, now)) {
    if (settings.genesisWindow === 'enforce')
      throw new StartError('GENESIS_FILE: now is outside valid_from..valid_to of network_authority')
    log.warn('now is outside the key window of the genesis block', { valid_to: genesis.network_authority.valid_to })
  }
  await selfTest(signer)
}

/** Checks that the platform reproduces the worked examples, and that the real key makes valid signatures only. */
async function selfTest(signer: AuthoritySigner): Promise<void> {
  const faults = await findPlatformFaults()
  if (faults.length > 0) throw new StartError(`the self-test failed on ${faults.join(', ')}: do not use this machine`)
  const message = toUtf8('chancery self-test')
  const good = await verifySignature(signer.publicKey, message, toBase64(await signer.sign(message)))
  const probe = await seedSigner('probe', toBase64(new Uint8Array(32).fill(7)))
  const other = await verifySignature(signer.publicKey, message, toBase64(await probe.sign(message)))
  if (!good || other) throw new StartError('the signature self-test failed: do not use this key')
}

/** All instances of one database are one authority: same network, same key, and the former key while it is in use. */
export async function claimDatabase(
  database: Database,
  genesis: GenesisBlock,
  ownKeys: OwnKeys,
  now: Instant,
): Promise<void> {
  await claimIdentity(database, genesis, ownKeys, now)
  await requireFormerKey(database, ownKeys, now)
}

/** Stores network and key in a new database. Refuses a database of another network or key. */
export async function claimIdentity(
  database: Database,
  genesis: GenesisBlock,
  ownKeys: OwnKeys,
  now: Instant,
): Promise<void> {
  const identity = {
    id: 1,
    network_name: genesis.network_name,
    public_key: ownKeys.current,
    created_at: writeSortable(now),
  }
  await database.write(({ query }) =>
    query
      .insertInto('authority_identity')
      .values(identity)
      .onConflict((conflict) => conflict.doNothing())
      .execute(),
  )
  const stored = await database.read
    .selectFrom('authority_identity')
    .selectAll()
    .where('id', '=', 1)
    .executeTakeFirstOrThrow()
  const isSameNetwork = stored.network_name === identity.network_name
  if (isSameNetwork && ownKeys.former.some((key) => key.public_key === stored.public_key))
    throw new StartError('the database still belongs to the former key: chancery authority rotate-key')
  if (!isSameNetwork || stored.public_key !== identity.public_key) {
    throw new StartError(
      `DATABASE_URL: the database belongs to network ${stored.network_name} or to another authority key`,
    )
  }
}

/** Certificates of the former key are still in use. Without its list gateways would refuse all of them. */
async function requireFormerKey(database: Database, { formerSigner }: OwnKeys, now: Instant): Promise<void> {
  const live = await findLiveFormerKey(database.read, now)
  if (live !== undefined && live.public_key !== formerSigner?.publicKey)
    throw new StartError(
      `NA_FORMER_PRIVATE_KEY_FILE: the former key ${live.key_id} signs its own list until ${live.lists_until}`,
    )
}
