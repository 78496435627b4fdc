import { dirname, resolve } from 'node:path'
import { HOUR, MINUTE, SECOND, readInstant, writeSortable } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import { digestKeyring } from '../../auth/operator-keys-check.ts'
import { LARGE_PART, SHRINK_LIST, findActiveVersion, partOfBound } from '../../features/crl/index.ts'
import { measureUnanchored } from '../../features/evidence/index.ts'
import { listExpiry } from '../../features/recognition-treaties/index.ts'
import { listPeerFeeds } from '../../features/revocation-feeds/index.ts'
import type { PeerFeed } from '../../features/revocation-feeds/index.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import { isInFuture } from '../../clock/date-after.ts'
import { MarkFileError, readMark } from '../../rollback/mark-file.ts'
import type { Database } from '../../database/database.ts'
import { findRollback, readHeads } from '../../rollback/positions.ts'
import { bad, good, skipped, warn } from '@chancery/service-kit'
import type { Finding } from '@chancery/service-kit'

/** How long an instance counts as running after it was last seen (reliability 13). */
const SEEN_WITHIN = 3n * MINUTE
const MARK_LATE = 5n * MINUTE

/** Checks what must be fresh for correct decisions here, and for others to rely on us. */
export async function checkState(
  database: Database,
  settings: AuthoritySettings,
  now: Instant,
): Promise<readonly Finding[]> {
  return [
    await checkList(database, now),
    ...(await checkListSize(database, settings)),
    ...(await checkFormerList(database, now)),
    ...(await checkPeers(database, now)),
    ...(settings.evidenceStore ? [await checkAnchors(database, settings, now)] : []),
    ...(await checkInstances(database, settings, now)),
  ]
}

/** Checks the marks outside the database, without which a restored old backup is not detected. */
export async function checkMarks(
  database: Database,
  { highWaterFiles: files, haMode }: AuthoritySettings,
  ownKeys: readonly string[],
  now: Instant,
): Promise<readonly Finding[]> {
  const setting = 'NA_HIGH_WATER_FILES'
  if (files.length === 0)
    return [
      bad(
        'high-water',
        'no mark is stored: a restored old backup would not be detected',
        `Set ${setting} to two files outside the database.`,
      ),
    ]
  const findings: Finding[] = []
  for (const file of files) findings.push(await checkHighWaterMark(database, file, ownKeys, now))
  const folders = new Set(files.map((file) => dirname(resolve(file))))
  if (haMode && folders.size < 2)
    findings.push(
      warn(
        'high-water-places',
        'all marks are in one folder',
        `Name a file on another disk or machine in ${setting}, too.`,
      ),
    )
  return findings
}

async function checkHighWaterMark(
  database: Database,
  file: string,
  ownKeys: readonly string[],
  now: Instant,
): Promise<Finding> {
  try {
    const mark = await readMark(file, ownKeys)
    if (mark === undefined)
      return warn(
        'high-water',
        `${file} does not exist yet`,
        'Start the authority, and see that its user may write the folder.',
      )
    const below = await findRollback(database.read, await readHeads(database.read), mark)
    if (below.length > 0)
      return bad(
        'high-water',
        `the database is rolled back: ${file}: ${below.join(', ')}`,
        'Restore a newer backup, or run chancery authority recover: docs/operate/backup.md.',
      )
    if (now - (readInstant(mark.written_at) ?? 0n) > MARK_LATE)
      return warn(
        'high-water',
        `${file} was last written ${mark.written_at}`,
        'Is an authority running? If so, its user cannot write the file: see its log.',
      )
    return good('high-water', `${file} of ${mark.written_at}`)
  } catch (error) {
    if (!(error instanceof MarkFileError)) throw error
    return bad(
      'high-water',
      error.message,
      'Find out who wrote it; then move it away and take the mark of the other place.',
    )
  }
}

async function checkList(database: Database, now: Instant): Promise<Finding> {
  const list = await findActiveVersion(database.read)
  if (list === undefined) return skipped('crl', 'none yet: the authority signs one within a minute of its first start')
  if (isInFuture(list.issuedAt, now))
    return bad(
      'crl',
      `list ${list.sequence} is dated ${Number((list.issuedAt - now) / SECOND)} s ahead of this clock: verifiers refuse it`,
      'Correct the clock, then run chancery authority resign-lists: docs/operate/incidents.md#wrong-clock.',
    )
  const age = Number((now - list.issuedAt) / HOUR)
  const fix = 'Is an authority running and ready? Look at job crl-refresh in /metrics and at the key provider.'
  if (now >= list.nextUpdate)
    return bad('crl', `list ${list.sequence} has ended: verifiers refuse all certificates`, fix)
  if (age >= 13) return bad('crl', `list ${list.sequence} is ${age} h old and was not signed again`, fix)
  return good('crl', `list ${list.sequence}, ${age} h old`)
}

/** All readers refuse a list above their limit, and not all of them report it here. */
async function checkListSize(database: Database, settings: AuthoritySettings): Promise<readonly Finding[]> {
  const active = await findActiveVersion(database.read)
  const part = partOfBound(active, settings)
  if (active === undefined || part === undefined) return []
  const found = `${active.entries} entries, ${active.bytes} bytes, ${Math.floor(part * 100)} % of NA_LIST_READER_BYTES`
  if (part < LARGE_PART) return [good('crl-size', found)]
  return [part < 1 ? warn('crl-size', found, SHRINK_LIST) : bad('crl-size', found, SHRINK_LIST)]
}

/** Certificates of a former key are checked with a list that this key continues to sign. */
async function checkFormerList(database: Database, now: Instant): Promise<readonly Finding[]> {
  const former = await database.read
    .selectFrom('former_keys')
    .select(['key_id', 'lists_until'])
    .where('lists_until', '>', writeSortable(now))
    .execute()
  const findings: Finding[] = []
  for (const { key_id, lists_until } of former) {
    const list = await database.read
      .selectFrom('former_crl_versions')
      .select(['sequence', 'next_update'])
      .where('key_id', '=', key_id)
      .orderBy('sequence', 'desc')
      .limit(1)
      .executeTakeFirst()
    const isLive = list !== undefined && list.next_update > writeSortable(now)
    findings.push(
      isLive
        ? good('former-crl', `list ${list.sequence} of ${key_id}, signed on until ${lists_until}`)
        : bad(
            'former-crl',
            `${key_id} has no list in force`,
            'Give NA_FORMER_PRIVATE_KEY_FILE back: docs/operate/keys.md.',
          ),
    )
  }
  return findings
}

/** One line for each recognised sovereign, and one for each treaty that ends or has recently ended. */
async function checkPeers(database: Database, now: Instant): Promise<readonly Finding[]> {
  const ends = await listExpiry(database.read, writeSortable(now - 168n * HOUR))
  const findings: Finding[] = []
  for (const { sovereign, ends: text } of ends) {
    const left = (readInstant(text) ?? 0n) - now
    if (left <= 0n)
      findings.push(
        bad(
          'treaty',
          `${sovereign} is not recognised any more since ${text}`,
          `chancery treaty renew, or revoke it to say that this was meant.`,
        ),
      )
    else if (left < 72n * HOUR) findings.push(warn('treaty', `with ${sovereign} ends ${text}`, 'chancery treaty renew'))
  }
  for (const peer of await listPeerFeeds(database.read, now)) findings.push(checkPeer(peer, now))
  return findings
}

function checkPeer({ sovereign, seenAt }: PeerFeed, now: Instant): Finding {
  const fix = `chancery feed import <address of ${sovereign}>, and a timer that repeats it every hour.`
  if (seenAt === undefined) return bad('peer-feed', `${sovereign}: its feed was never imported in full`, fix)
  const age = Number((now - seenAt) / HOUR)
  if (age >= 72)
    return bad('peer-feed', `${sovereign} was looked at ${age} h ago: what it withdrew since is accepted`, fix)
  return age >= 24
    ? warn('peer-feed', `${sovereign} was looked at ${age} h ago`, fix)
    : good('peer-feed', `${sovereign}, ${age} h ago`)
}

async function checkAnchors(
  database: Database,
  { anchorIntervalSeconds }: AuthoritySettings,
  now: Instant,
): Promise<Finding> {
  const { entries, since } = await measureUnanchored(database.read)
  if (anchorIntervalSeconds === 0)
    return warn(
      'evidence-anchors',
      'are made on request only',
      'Set NA_ANCHOR_INTERVAL_SECONDS, or let a timer run chancery evidence anchor.',
    )
  const seconds = since === undefined ? 0 : Number((now - (readInstant(since) ?? now)) / 1_000_000n)
  if (seconds > 2 * anchorIntervalSeconds)
    return bad(
      'evidence-anchors',
      `${entries} entries are under no anchor, the oldest for ${seconds} s`,
      'chancery evidence anchor says why; then chancery authority verify-db.',
    )
  return good('evidence-anchors', `${entries} entries wait for the next one`)
}

async function checkInstances(
  database: Database,
  settings: AuthoritySettings,
  now: Instant,
): Promise<readonly Finding[]> {
  const rows = await database.read
    .selectFrom('instances')
    .select(['instance', 'operator_digest'])
    .where('seen_at', '>=', writeSortable(now - SEEN_WITHIN))
    .orderBy('instance')
    .limit(100)
    .execute()
  const others = rows.filter((row) => row.operator_digest !== digestKeyring(settings.operators))
  const findings: Finding[] = []
  if (rows.length > 1 && !settings.haMode)
    findings.push(
      bad(
        'instances',
        `${rows.length} run on this database with NA_HA_MODE off`,
        'Set NA_HA_MODE=on for all of them, or stop all but one.',
      ),
    )
  else findings.push(good('instances', `${rows.length} seen within three minutes`))
  if (others.length > 0)
    findings.push(
      bad(
        'instance-operators',
        `${others.map((row) => row.instance).join(', ')}: other operator keys or tiers than these settings`,
        'Roll OPERATOR_PUBLIC_KEYS_JSON and OPERATOR_KEY_TIERS_JSON out to every instance.',
      ),
    )
  return findings
}
