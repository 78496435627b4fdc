import { FormError, JsonError, type JsonObject } from '@chancery/protocol'
import { NO_TEXT } from '../features/crl/index.ts'
import { findMiscount } from '../database/certificate-counts.ts'
import type { Reader } from '../database/database.ts'
import { inspectLists } from './inspect-lists.ts'
import { inspectPolicies } from './inspect-policies.ts'
import { inspectSovereign } from './inspect-sovereign.ts'
import { type InspectedAuthority, InspectionNotes, pages, parse } from './manifest.ts'

export interface Inspection {
  /** Number of checked records of each kind. */
  readonly counts: Readonly<Record<string, number>>
  /** One line per fault, naming kind and record. At most a thousand. */
  readonly problems: readonly string[]
}

/** The report of the evidence store, as GET /admin/evidence/verify returns it. */
export type InspectEvidence = (db: Reader, authority: InspectedAuthority) => Promise<JsonObject>

const PAGE = 500

/**
 * Verifies everything in this database (reliability 12): each signed record verifies with the authority's key and
 * matches its row, lists and feeds follow each other without a gap and undo no revocation, one version of each policy
 * is active, the evidence chain and its anchors verify, and audit events match their columns. Changes nothing.
 */
export async function inspectDatabase(
  db: Reader,
  authority: InspectedAuthority,
  inspectEvidence: InspectEvidence,
): Promise<Inspection> {
  const notes = new InspectionNotes(authority.publicKeys)
  await inspectLists(db, notes)
  await inspectCertificates(db, notes)
  await inspectPolicies(db, authority.publicKeys, notes)
  await inspectSovereign(db, notes)
  await noteEvidence(inspectEvidence(db, authority), notes)
  await inspectEvents(db, notes)
  return { counts: notes.counts, problems: notes.problems }
}

async function inspectCertificates(db: Reader, notes: InspectionNotes): Promise<void> {
  const page = (after: string) =>
    db
      .selectFrom('issued_certs')
      .select(['cert_id', 'cert_json', 'node_public_key', 'status', 'revoked_at', 'revocation_reason'])
      .where('cert_id', '>', after)
      .orderBy('cert_id')
      .limit(PAGE)
      .execute()
  for await (const row of pages('', page, (each) => each.cert_id)) {
    const name = `certificate ${row.cert_id}`
    const isRevoked = row.status === 'revoked'
    // Revoked after a restore, by id and key: it has no text, and needs none to be refused.
    const record =
      isRevoked && row.cert_json === NO_TEXT
        ? undefined
        : await notes.ownRecord('certificate', row.cert_id, row.cert_json)
    if (
      record !== undefined &&
      (record['cert_id'] !== row.cert_id || record['node_public_key'] !== row.node_public_key)
    )
      notes.problem(`${name}: is another one`)
    if (isRevoked !== (row.revoked_at !== null) || isRevoked !== (row.revocation_reason !== null))
      notes.problem(`${name}: withdrawn by half`)
  }
  const miscount = await findMiscount(db)
  if (miscount !== undefined) notes.problem(`certificates: ${miscount}`)
}

async function noteEvidence(report: Promise<JsonObject>, notes: InspectionNotes): Promise<void> {
  try {
    const { checked_entries, failures, anchors } = (await report) as unknown as EvidenceReport
    notes.saw('evidence entry', checked_entries)
    notes.saw('evidence anchor', anchors.anchors_checked)
    for (const { store_sequence, reason, detail } of failures)
      notes.problem(`evidence ${store_sequence ?? '-'}: ${reason} (${detail})`)
  } catch (error) {
    if (!(error instanceof FormError || error instanceof JsonError)) throw error
    notes.problem('evidence: an anchor or a checkpoint is not a record')
  }
}

interface EvidenceReport {
  readonly checked_entries: number
  readonly failures: readonly {
    readonly store_sequence: number | null
    readonly reason: string
    readonly detail: string
  }[]
  readonly anchors: { readonly anchors_checked: number }
}

async function inspectEvents(db: Reader, notes: InspectionNotes): Promise<void> {
  const page = (after: string) =>
    db
      .selectFrom('audit_events')
      .select(['event_id', 'event_type', 'event_json'])
      .where('event_id', '>', after)
      .orderBy('event_id')
      .limit(PAGE)
      .execute()
  for await (const row of pages('', page, (each) => each.event_id)) {
    notes.saw('audit event')
    const event = parse(row.event_json)
    if (event?.['event_id'] !== row.event_id || event['event_type'] !== row.event_type)
      notes.problem(`audit event ${row.event_id}: is another one`)
  }
}
