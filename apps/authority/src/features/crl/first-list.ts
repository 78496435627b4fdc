import { setTimeout as pause } from 'node:timers/promises'
import {
  CRL_VALIDITY,
  HOUR,
  instantOf,
  readGenesisBlock,
  readInstant,
  readJson,
  writeSortable,
} from '@chancery/protocol'
import type { Signer } from '@chancery/protocol'
import { loadSignedEntries, requireLiving } from './continuity.ts'
import { type CrlParts, listText, signList } from './lists.ts'
import { type CrlVersion, findActiveVersion, issuerText, joinEntries } from './queries.ts'

/** Explains to the operator why the succession is not possible. */
export class KeySuccessionError extends Error {
  override readonly name = 'KeySuccessionError'
}

/** How long gateways may be pinned with it before it is signed again. */
export const FIRST_LIST_HOURS: number = Number(CRL_VALIDITY / HOUR)

/** The list of an announced key is signed again after this time, when there is a newer current list. */
const RENEWED_AFTER = HOUR

/** An instance that has just started is ready before its first run of jobs, which stores the first list of a network. */
const FIRST_STORED = { tries: 60, everyMs: 500 }

/** Who signs the list, and the key id that its entries have now. */
export interface FirstListKeys {
  readonly issuer: Signer
  readonly presentKeyId: string
}

/**
 * Signs the list with which gateways pin the new key before the switch. It has the sequence of the current list, so that
 * the first list after the switch is higher.
 */
export async function draftFirstList(parts: CrlParts, { issuer, presentKeyId }: FirstListKeys): Promise<string> {
  const { database } = parts
  const active = await waitForList(database)
  const { text } = await joinEntries(database, database.read)
  const now = parts.clock.now()
  const before = await loadSignedEntries(database.read, parts, active)
  await requireLiving(database.read, parts, { before, entries: text, now })
  const issuedAt = now < active.issuedAt ? active.issuedAt : now
  const header = { crl_id: parts.ids.uuid(), sequence: active.sequence, issuer: issuer.keyId, issuedAt }
  return signList(issuer, listText(header, text.replaceAll(issuerText(presentKeyId), issuerText(issuer.keyId))))
}

async function waitForList({ read }: CrlParts['database']): Promise<CrlVersion> {
  for (let tries = 1; ; tries += 1) {
    const active = await findActiveVersion(read)
    if (active !== undefined) return active
    if (tries === FIRST_STORED.tries)
      throw new KeySuccessionError(
        'there is no revocation list: start an instance with the present key, which stores the first one',
      )
    await pause(FIRST_STORED.everyMs)
  }
}

/**
 * Signs the list of an announced key again until the switch, so that gateways that pinned the key have a fresh list of
 * it. Any instance that has the key does so.
 */
export async function renewFirstList(parts: CrlParts): Promise<void> {
  const { database, signing, findKey } = parts
  const stored = await database.read
    .selectFrom('key_succession')
    .select(['key_id', 'genesis_json', 'genesis_digest', 'phase', 'first_list_at'])
    .where('id', '=', 1)
    .executeTakeFirst()
  if (stored?.phase !== 'announced') return
  const active = await findActiveVersion(database.read)
  const signedAt = readInstant(stored.first_list_at ?? '') ?? instantOf('1970-01-01T00:00:00Z')
  if (active === undefined || active.issuedAt <= signedAt || parts.clock.now() < signedAt + RENEWED_AFTER) return
  const { public_key } = readGenesisBlock(readJson(stored.genesis_json)).network_authority
  const issuer = await findKey(stored.key_id, public_key)
  if (issuer === undefined) {
    parts.log.warn('the announced key is not reachable here: its list is not signed again', { key_id: stored.key_id })
    return
  }
  const first_list_json = await draftFirstList(parts, { issuer, presentKeyId: signing.keyId })
  await database.write(async (tx) => {
    // Of several instances one stores its list: two lists with one sequence would look like a fork.
    const { numUpdatedRows } = await tx.query
      .updateTable('key_succession')
      .set({ first_list_json, first_list_at: writeSortable(parts.clock.now()) })
      .where('phase', '=', 'announced')
      .where('genesis_digest', '=', stored.genesis_digest)
      .where('first_list_at', stored.first_list_at === null ? 'is' : '=', stored.first_list_at)
      .executeTakeFirstOrThrow()
    if (numUpdatedRows > 0n) await tx.raiseVersion('crl')
  })
}
