import {
  NOT_STORED,
  OWN_ID_REASON,
  POLICY_REASON,
  digestOfRecord,
  isJsonObject,
  readAttestation,
  readInstant,
  readJoinCertificate,
  readJson,
  readOrUndefined,
  readRecognitionTreaty,
  writeInstant,
} from '@chancery/protocol'
import type { Attestation, JoinCertificate, JsonValue, RecognitionTreaty, Standing } from '@chancery/protocol'
import { NO_ENDS } from './queries.ts'
import type { AttestationRow, CertificateRow, ImportedRow, LocalEnds, TreatyStateRow } from './queries.ts'

/** What is stored about a record, and the record itself if it can be read. */
export interface Stored<Value> {
  readonly standing: Standing
  readonly record: Value | undefined
}

export function notStored(kind: Standing['kind'], id: string, issuer_sovereign_id: string): Standing {
  return { kind, id, issuer_sovereign_id, ...NOT_STORED }
}

export function certificateStanding(row: CertificateRow, own: string): Stored<JoinCertificate> {
  const record = tryRead(row.cert_json, readJoinCertificate)
  const entry = row.entry_json === null ? undefined : readListed(row.entry_json)
  const isRevoked = row.status === 'revoked' || row.revoked_at !== null || row.entry_json !== null
  const end = isRevoked
    ? endOf([row.revoked_at, entry?.revoked_at], entry?.reason ?? row.revocation_reason, 'list')
    : NOT_ENDED
  const superseded_at = toWire(row.revoke_after)
  return { record, standing: { ...stated('certificate', row.cert_id, own, record), ...end, superseded_at } }
}

/** A certificate without a row that the list names: a restored database may lack it. */
export function listedStanding(cert_id: string, entry_json: string, own: string): Standing {
  const entry = readListed(entry_json)
  const end = endOf([entry?.revoked_at], entry?.reason ?? null, 'list')
  return { ...notStored('certificate', cert_id, own), ...end }
}

export function attestationStanding(row: AttestationRow, own: string): Stored<Attestation> {
  const record = tryRead(row.attestation_json, readAttestation)
  const isRevoked = row.status === 'revoked' || row.revoked_at !== null || row.published_at !== null
  const end = isRevoked ? endOf([row.revoked_at, row.published_at], row.revocation_reason, 'feed') : NOT_ENDED
  return { record, standing: { ...stated('attestation', row.attestation_id, own, record), ...end } }
}

export function treatyStanding(row: TreatyStateRow, own: string): Stored<RecognitionTreaty> {
  const record = tryRead(row.treaty_json, readRecognitionTreaty)
  const isRevoked = row.status === 'revoked' || row.revoked_at !== null || Boolean(row.revoked_in_audit)
  const end = isRevoked ? endOf([row.revoked_at], row.revocation_reason, 'authority') : NOT_ENDED
  return { record, standing: { ...stated('treaty', row.treaty_id, own, record), ...end } }
}

/** `row` undefined: no imported feed names the attestation. The first end counts. */
export function importedStanding(
  issuer: string,
  id: string,
  row: ImportedRow | undefined,
  { policy_at, own_issued_at }: LocalEnds = NO_ENDS,
): Standing {
  const none = { ...notStored('imported_attestation', id, issuer), known: true }
  const authority = { kind: 'authority', sequence: null } as const
  const ends = [
    ...(policy_at === null ? [] : [{ revoked_at: toWire(policy_at), reason: POLICY_REASON, source: authority }]),
    ...(own_issued_at === null
      ? []
      : [{ revoked_at: toWire(own_issued_at), reason: OWN_ID_REASON, source: authority }]),
  ]
  const feed =
    row === undefined
      ? undefined
      : {
          revoked_at: toWire(row.imported_at),
          reason: cut(row.reason),
          source: { kind: 'imported_feed', sequence: Number(row.sequence) } as const,
        }
  const [first] = [...(feed === undefined ? [] : [feed]), ...ends].sort((a, b) => timeOf(a) - timeOf(b))
  return first === undefined ? none : { ...none, is_revoked: true, ...first }
}

/** An end without a time comes last: another one may have a time. */
function timeOf({ revoked_at }: { readonly revoked_at: string | null }): number {
  const at = readInstant(revoked_at ?? '')
  return at === undefined ? Number.MAX_SAFE_INTEGER : Number(at)
}

const NOT_ENDED = { is_revoked: false, revoked_at: null, reason: null, source: null } as const

/** The earliest time counts: an edited row must not move a revocation. */
function endOf(
  times: readonly (string | null | undefined)[],
  reason: string | null,
  kind: 'list' | 'feed' | 'authority',
): Pick<Standing, 'is_revoked' | 'revoked_at' | 'reason' | 'source'> {
  const known = times.map((time) => readInstant(time ?? '')).filter((time) => time !== undefined)
  const first = known.reduce<bigint | undefined>(
    (least, at) => (least === undefined || at < least ? at : least),
    undefined,
  )
  return {
    is_revoked: true,
    revoked_at: first === undefined ? null : writeInstant(first),
    reason: cut(reason),
    source: { kind, sequence: null },
  }
}

function stated(kind: Standing['kind'], id: string, own: string, record: object | undefined): Standing {
  const record_digest = record === undefined ? null : digestOfRecord(record)
  return { ...notStored(kind, id, own), known: true, record_digest }
}

/** A row that cannot be read proves nothing. The inspection of the database reports it. */
export function tryRead<Value>(text: string, read: (value: JsonValue) => Value): Value | undefined {
  return readOrUndefined(() => read(readJson(text)))
}

function readListed(text: string): { readonly revoked_at: string; readonly reason: string } | undefined {
  const entry = tryRead(text, (value) => value)
  if (!isJsonObject(entry)) return undefined
  const { revoked_at, reason } = entry
  return typeof revoked_at === 'string' && typeof reason === 'string' ? { revoked_at, reason } : undefined
}

function toWire(time: string | null): string | null {
  const at = readInstant(time ?? '')
  return at === undefined ? null : writeInstant(at)
}

/** Reasons of other sovereigns can be longer than a statement allows. */
function cut(reason: string | null): string | null {
  return reason === null ? null : [...reason].slice(0, 256).join('')
}
