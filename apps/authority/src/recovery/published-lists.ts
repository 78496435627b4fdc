import {
  FormError,
  JsonError,
  READ_LIMITS,
  checkListAdvance,
  positionOfList,
  readCrl,
  readJson,
  readRevocationFeed,
  verifyList,
  writeInstant,
} from '@chancery/protocol'
import type { Crl, Instant, JsonObject, Signature } from '@chancery/protocol'
import { findList, loadListText } from '../database/list-segments.ts'
import type { RecoveryParts } from './revoke-lost.ts'
import type { HighWater } from '../rollback/mark-file.ts'
import { digestOf, readHeads } from '../rollback/positions.ts'
import { closeSync, openSync, readSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** Maximum size of a saved list. */
export const LIST_LIMITS = { ...READ_LIMITS, maxValues: 6_000_000, maxNames: 200_000 }

/** Records of this authority that others saved, as they received them. */
export interface Published {
  readonly crl?: string
  readonly feed?: string
  /** Although the mark is missing and no list is given: revocations that only they name come to nothing. */
  readonly withoutMark?: boolean
}

/** A given file is not a list or a feed of this authority. */
export class PublishedListError extends Error {
  override readonly name = 'PublishedListError'
}

/**
 * The stored mark, or the state of the database, raised to the records that others saved. A gateway or a mirror may
 * have a newer list than the last mark, or the only one left.
 */
export async function raiseMark(parts: RecoveryParts, { crl, feed, withoutMark }: Published): Promise<HighWater> {
  const { database, network, clock, rollback, keys } = parts
  const saved = rollback.mark
  if (rollback.isHalted() && saved === undefined && crl === undefined && withoutMark !== true)
    throw new PublishedListError(
      'the high-water mark is missing, so revocations that this database lacks are unknown: put the mark back, or give the newest list that others have with --crl (and --feed); --without-mark if there is none',
    )
  const facts = { network_name: network.name, written_at: writeInstant(clock.now()) }
  let mark: HighWater = saved ?? { mark_version: 1, ...facts, ...(await readHeads(database.read)) }
  const last_crl = saved === undefined ? await readStoredList(parts, mark) : await rollback.readLastList()
  // The given list may replace it.
  if (last_crl === undefined && crl === undefined)
    throw new PublishedListError(
      `--crl: is needed: the mark names the list ${mark.crl?.sequence}, and its file next to the mark is missing or damaged`,
    )
  mark = { ...mark, last_crl: last_crl ?? null }
  if (crl !== undefined) {
    const list = await readOwn('--crl', crl, readCrl, keys.current)
    requireOneHistory(list, mark.last_crl, clock.now())
    const { sequence } = list
    const isNeeded = last_crl === undefined
    if (isNeeded && sequence < (mark.crl?.sequence ?? -1))
      throw new PublishedListError(
        `--crl: is older than the list ${mark.crl?.sequence}, whose file is missing or damaged`,
      )
    if (isNeeded || sequence > (mark.crl?.sequence ?? -1))
      mark = { ...mark, crl: { sequence, digest: digestOf(crl) }, last_crl: crl }
  }
  if (feed !== undefined) {
    const { sequence, issuer_sovereign_id } = await readOwn('--feed', feed, readRevocationFeed, keys.current)
    if (issuer_sovereign_id !== network.name)
      throw new PublishedListError(`--feed: is the feed of ${issuer_sovereign_id}`)
    if (sequence > (mark.feed?.sequence ?? -1))
      mark = { ...mark, feed: { sequence, digest: digestOf(feed) }, last_feed: feed }
  }
  return mark
}

/** The text of the newest stored list, when the mark was made from the database. */
async function readStoredList({ database }: RecoveryParts, mark: HighWater): Promise<string | null> {
  const list = mark.crl === null ? undefined : await findList(database.read, mark.crl.sequence)
  return list === undefined ? null : loadListText(database.read, list)
}

/** Of several lists, the newest own one. A single list is used as it is, and verified later. */
export async function chooseOwnList(texts: readonly string[], publicKey: string): Promise<string> {
  const [only, ...more] = texts
  if (only !== undefined && more.length === 0) return only
  let newest: { readonly sequence: number; readonly text: string } | undefined
  for (const text of texts) {
    const list = await readOwn('--crl', text, readCrl, publicKey).catch((error: unknown) => {
      if (error instanceof PublishedListError) return undefined
      throw error
    })
    if (list !== undefined && list.sequence > (newest?.sequence ?? -1)) newest = { sequence: list.sequence, text }
  }
  if (newest === undefined) throw new PublishedListError('--crl: holds no list that this authority signed')
  return newest.text
}

/**
 * Two lists with one sequence and different revocations: using either would drop revocations of the other, so the
 * operator has to decide (protocol/gateway 9.2).
 */
function requireOneHistory(given: Crl, savedText: string | null, now: Instant): void {
  if (savedText === null) return
  const saved = readCrl(readJson(savedText, LIST_LIMITS))
  const verdict = checkListAdvance(positionOfList(saved), positionOfList(given), now)
  if (verdict.ok || verdict.reason !== 'equivocation') return
  const known = new Set(saved.revoked_certificates.map((entry) => entry.certificate_id))
  const alone = given.revoked_certificates.flatMap(({ certificate_id: id }) => (known.has(id) ? [] : [id]))
  const named = alone.length === 0 ? 'nothing' : alone.slice(0, NAMED).join(', ') + (alone.length > NAMED ? ', …' : '')
  throw new PublishedListError(
    `--crl: number ${given.sequence} is known with other revocations: two histories were signed. ` +
      `Run recover without --crl; it may say that nothing is behind. Then revoke what only this list names: ${named}. ` +
      'The list that names it has a higher number than both.',
  )
}

const NAMED = 20

/** Parsed as the given kind, and signed by the current key: the list of a former key has only its own certificates. */
async function readOwn<Kind>(
  flag: string,
  text: string,
  read: (value: ReturnType<typeof readJson>) => Kind,
  publicKey: string,
): Promise<Kind> {
  try {
    const record = readJson(text, LIST_LIMITS)
    const own = read(record)
    if (await verifyList(record as JsonObject & { signatures: Signature[] }, [publicKey])) return own
  } catch (error) {
    if (!(error instanceof JsonError || error instanceof FormError)) throw error
    throw new PublishedListError(`${flag}: cannot be read: ${error.message}`, { cause: error })
  }
  throw new PublishedListError(`${flag}: is not signed by this authority`)
}

const SQLITE_HEAD = 'SQLite format 3\0'
/** The application id in the header of a gateway's state file: "CHGW". */
const GATEWAY_STATE = 0x43484757
const APPLICATION_ID_AT = 68

/**
 * Returns the lists in a copy of a gateway's state, of all its networks. Undefined when the file is not such a copy.
 */
export function readGatewayLists(path: string): readonly string[] | undefined {
  const head = readHead(path)
  if (head === undefined || head.toString('latin1', 0, SQLITE_HEAD.length) !== SQLITE_HEAD) return undefined
  if (head.readUInt32BE(APPLICATION_ID_AT) !== GATEWAY_STATE)
    throw new PublishedListError(`--crl: ${path} is a database, but not the state of a gateway`)
  const file = new DatabaseSync(path, { readOnly: true })
  try {
    return file
      .prepare('select body from checkpoints')
      .all()
      .map((row) => String(row['body']))
  } catch (error) {
    throw new PublishedListError(`--crl: ${path} cannot be read; give what chancery gateway backup --out wrote`, {
      cause: error,
    })
  } finally {
    file.close()
  }
}

/** The caller reports a file that cannot be read. */
function readHead(path: string): Buffer | undefined {
  const head = Buffer.alloc(100)
  try {
    const file = openSync(path, 'r')
    try {
      return readSync(file, head, 0, head.length, 0) === head.length ? head : undefined
    } finally {
      closeSync(file)
    }
  } catch {
    return undefined
  }
}
