import {
  hasOnlyTrustedSignatures,
  DAY,
  instantOf,
  isJsonObject,
  isPlainText,
  member,
  readInstant,
  readJoinCertificate,
  readJson,
  readOrUndefined,
  readPublicKey,
} from '@chancery/protocol'
import type { JoinCertificate, JsonObject, RevocationReason } from '@chancery/protocol'
import { type RecoveryParts, ReportedRevocations, type RevokedElsewhere } from './revoke-lost.ts'
import { ownKeysAt } from '../signing/own-keys.ts'
import type { Reader } from '../database/database.ts'
import { isOurs } from '../features/crl/index.ts'
import { type LostEvent, LostRecordReader, type LostRecords } from './unknown-records.ts'

/** No certificate is valid longer, so older events need no revocation. */
const LONGEST_LIFE = 366n * DAY
const AT_ONCE = 500

/** Records of the time after the backup that others have. */
export interface ReportedElsewhere {
  /** Audit events as they were exported or forwarded, one JSON text each. */
  readonly events: AsyncIterable<string> | Iterable<string>
  /** Texts of certificates, as nodes and relying parties store them. */
  readonly certificates: readonly string[]
}

/** A certificate of this authority that is neither in the database nor on its list. */
export interface UnknownCertificate {
  readonly cert_id: string
  readonly node_public_key: string
  /** With its own signed text it can be adopted. Without, it can only be revoked. */
  readonly certificate: JoinCertificate | undefined
  /** The admission rule of its event; null when an invite admitted it, undefined when no event names it. */
  readonly admittedBy?: string | null
  /** The reason, when the events also name its revocation. It is then never adopted. */
  readonly revokedFor?: RevocationReason
}

export interface UnknownReport extends LostRecords {
  readonly certificates: readonly UnknownCertificate[]
  /** On the list, and still without a row: a compromised key among them is not barred yet. */
  readonly listed: readonly UnknownCertificate[]
  /** Revoked after the backup, and in use here again: the saved list is older than the revocation. */
  readonly validAgain: readonly RevokedElsewhere[]
  /** Events that the database lacks, by type. */
  readonly events: Readonly<Record<string, number>>
  /** Texts that are not a certificate of this authority. */
  readonly foreign: number
  /** Expired certificates, which are refused everywhere. */
  readonly ended: number
}

/** Compares the records of others with the database. Changes nothing. */
export async function findUnknown(parts: RecoveryParts, elsewhere: ReportedElsewhere): Promise<UnknownReport> {
  const db = parts.database.read
  const now = parts.clock.now()
  const named = new Map<string, UnknownCertificate>()
  const events: Record<string, number> = {}
  const lost = new LostRecordReader(now)
  const revocations = new ReportedRevocations()
  for await (const some of batches(elsewhere.events)) {
    for (const event of await withoutReported(db, some.map(readEvent))) {
      events[event.type] = (events[event.type] ?? 0) + 1
      lost.add(event)
      revocations.add(event)
      const issued = event.at + LONGEST_LIFE > now ? certificateOf(event) : undefined
      if (issued !== undefined) named.set(issued.cert_id, issued)
    }
  }
  let [foreign, ended] = [0, 0]
  for (const text of elsewhere.certificates) {
    const certificate = readCertificate(text)
    if (certificate === undefined || !(await isOurs(parts, certificate))) foreign += 1
    else if (instantOf(certificate.expires_at) <= now) {
      ended += 1
      named.delete(certificate.cert_id)
    } else {
      const { cert_id, node_public_key } = certificate
      // A certificate that a former key signed outside its period, or with a further signature of an unknown key, is
      // not valid: it can be revoked, not adopted.
      const isInTime = await hasOnlyTrustedSignatures(certificate, ownKeysAt(parts.keys, certificate.issued_at))
      named.set(cert_id, {
        ...named.get(cert_id),
        cert_id,
        node_public_key,
        certificate: isInTime ? certificate : undefined,
      })
    }
  }
  const all = [...named.values()].map((one) => {
    const revokedFor = revocations.reasonOf(one.cert_id)
    return revokedFor === undefined ? one : { ...one, revokedFor }
  })
  const validAgain = await revocations.findValidAgain(db, now)
  return { ...(await withoutStored(db, all)), ...(await lost.compare(db)), validAgain, events, foreign, ended }
}

/** A line that is not an event stops everything: half of a file must not count as the whole. */
function readEvent(line: string): LostEvent {
  const value = parse(line)
  const [id, type, at] = ['event_id', 'event_type', 'created_at'].map((name) => member(value ?? {}, name))
  const details = member(value ?? {}, 'details')
  const time = typeof at === 'string' ? readInstant(at) : undefined
  if (typeof id !== 'string' || typeof type !== 'string' || time === undefined || !isJsonObject(details))
    throw new SourceUnusableError('a line is no audit event: give a whole export of chancery authority audit')
  if (/^membership_attestation_(issued|revoked)$/.test(type)) requireListable(details)
  return { id, type, at: time, details }
}

/** Id and reason may be added to the feed, and an invalid one would make the whole feed unreadable. */
function requireListable({ attestation_id: id = '', reason = '' }: JsonObject): void {
  const isGood = typeof id === 'string' && isPlainText(id, 128) && typeof reason === 'string'
  if (!isGood || !isPlainText(reason, 256, 0))
    throw new SourceUnusableError(
      'an event names an attestation that cannot be one: this is no export of this authority',
    )
}

/** A given file cannot be read as its kind. */
export class SourceUnusableError extends Error {
  override readonly name = 'SourceUnusableError'
}

const ID_MEMBERS: Readonly<Record<string, string>> = {
  certificate_issued: 'cert_id',
  certificate_renewed: 'new_cert_id',
  certificate_adopted: 'cert_id',
}

function certificateOf({ type, details }: LostEvent): UnknownCertificate | undefined {
  const name = ID_MEMBERS[type]
  const cert_id = name === undefined ? undefined : details[name]
  const node_public_key = details['node_public_key']
  if (typeof cert_id !== 'string' || typeof node_public_key !== 'string') return undefined
  // It may be added to the list, and an invalid entry would make the whole list unreadable.
  if (!isPlainText(cert_id, 128) || readPublicKey(node_public_key) === undefined)
    throw new SourceUnusableError(
      'an event names a certificate that cannot be one: this is no export of this authority',
    )
  const rule_id = details['rule_id']
  return { cert_id, node_public_key, certificate: undefined, admittedBy: typeof rule_id === 'string' ? rule_id : null }
}

function readCertificate(text: string): JoinCertificate | undefined {
  return readOrUndefined(() => readJoinCertificate(readJson(text)))
}

function parse(text: string): JsonObject | undefined {
  const value = readOrUndefined(() => readJson(text))
  return isJsonObject(value) ? value : undefined
}

async function* batches(lines: ReportedElsewhere['events']): AsyncGenerator<string[]> {
  let some: string[] = []
  for await (const line of lines) {
    if (line.trim() === '') continue
    some.push(line)
    if (some.length < AT_ONCE) continue
    yield some
    some = []
  }
  if (some.length > 0) yield some
}

async function withoutReported(db: Reader, events: readonly LostEvent[]): Promise<readonly LostEvent[]> {
  const ids = events.map(({ id }) => id)
  const rows = await db.selectFrom('audit_events').select('event_id').where('event_id', 'in', ids).execute()
  const known = new Set(rows.map((row) => row.event_id))
  return events.filter(({ id }) => !known.has(id))
}

/** Those without a row, by whether the list names them: listed ones are already revoked. */
async function withoutStored(
  db: Reader,
  named: readonly UnknownCertificate[],
): Promise<Pick<UnknownReport, 'certificates' | 'listed'>> {
  const [certificates, listed]: [UnknownCertificate[], UnknownCertificate[]] = [[], []]
  for (let at = 0; at < named.length; at += AT_ONCE) {
    const some = named.slice(at, at + AT_ONCE)
    const ids = some.map(({ cert_id }) => cert_id)
    const idsIn = async (table: 'issued_certs' | 'crl_entries'): Promise<ReadonlySet<string>> =>
      new Set(
        (await db.selectFrom(table).select('cert_id').where('cert_id', 'in', ids).execute()).map((row) => row.cert_id),
      )
    const [stored, onList] = [await idsIn('issued_certs'), await idsIn('crl_entries')]
    for (const one of some) if (!stored.has(one.cert_id)) (onList.has(one.cert_id) ? listed : certificates).push(one)
  }
  const byId = (a: UnknownCertificate, b: UnknownCertificate): number => (a.cert_id < b.cert_id ? -1 : 1)
  return { certificates: certificates.sort(byId), listed: listed.sort(byId) }
}
