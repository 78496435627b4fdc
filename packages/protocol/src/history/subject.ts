import { type Attestation, readAttestation } from '../artifacts/attestation.ts'
import { type JoinCertificate, readJoinCertificate } from '../artifacts/join-certificate.ts'
import { type RecognitionTreaty, readRecognitionTreaty } from '../artifacts/recognition-treaty.ts'
import { sha256Hex } from '../canonical/digest.ts'
import { type JsonObject, type JsonValue, isJsonObject } from '../canonical/utf8.ts'
import type { Instant } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'
import { type SignedList, asJson, signedBytes } from '../signing/verify-any.ts'

/** The records of which a past state can be asked. */
export const RECORD_SUBJECTS = ['certificate', 'attestation', 'treaty'] as const
export type RecordSubject = (typeof RECORD_SUBJECTS)[number]

/** A record with the facts that every kind has. */
export interface SubjectRecord<Value extends object = object> {
  readonly kind: RecordSubject
  readonly id: string
  readonly issuer: string
  readonly record: Value & JsonObject & SignedList
  readonly digest: string
  readonly issued_at: string
  /** From here on and before `until` the record says that it is valid. */
  readonly from: Instant
  readonly until: Instant
  readonly status: string
}

/** Which record is asked about. */
export interface TrustSubject {
  readonly kind: RecordSubject
  readonly id: string
  /** Who issued it; the authority itself when absent. */
  readonly issuer?: string | undefined
  /** The record, if the caller has it. An attestation of a partner must be given: the authority does not store it. */
  readonly given?: SubjectRecord | undefined
}

/** The kind of a record by the name of its id, or undefined. */
export function subjectKindOf(value: JsonValue): RecordSubject | undefined {
  if (!isJsonObject(value)) return undefined
  const names = { certificate: 'cert_id', attestation: 'attestation_id', treaty: 'treaty_id' } as const
  return RECORD_SUBJECTS.find((kind) => typeof value[names[kind]] === 'string')
}

/** Reads a record of a kind. Throws a FormError. */
export function readSubject(kind: RecordSubject, value: JsonValue): SubjectRecord {
  if (kind === 'certificate') return fromCertificate(readJoinCertificate(value))
  return kind === 'attestation' ? fromAttestation(readAttestation(value)) : fromTreaty(readRecognitionTreaty(value))
}

export function fromCertificate(record: JoinCertificate): SubjectRecord<JoinCertificate> {
  const { cert_id: id, network_name: issuer, issued_at, expires_at } = record
  const times = { issued_at, from: instantOf(issued_at), until: instantOf(expires_at) }
  return { kind: 'certificate', id, issuer, record, digest: digestOfRecord(record), ...times, status: 'active' }
}

export function fromAttestation(record: Attestation): SubjectRecord<Attestation> {
  const { attestation_id: id, issuer_sovereign_id: issuer, status } = record
  return { kind: 'attestation', id, issuer, record, digest: digestOfRecord(record), ...timesOf(record), status }
}

export function fromTreaty(record: RecognitionTreaty): SubjectRecord<RecognitionTreaty> {
  const { treaty_id: id, issuer_sovereign_id: issuer, status } = record
  return { kind: 'treaty', id, issuer, record, digest: digestOfRecord(record), ...timesOf(record), status }
}

/** A record that is valid from before its signature was not there before its signature. */
function timesOf(record: {
  readonly issued_at: string
  readonly valid_from: string
  readonly expires_at: string
}): Pick<SubjectRecord, 'issued_at' | 'from' | 'until'> {
  const { issued_at } = record
  const [issued, start] = [instantOf(issued_at), instantOf(record.valid_from)]
  return { issued_at, from: issued > start ? issued : start, until: instantOf(record.expires_at) }
}

/** H(C(record without signatures)). */
export function digestOfRecord(record: object): string {
  return sha256Hex(signedBytes(asJson(record), 'signatures'))
}
