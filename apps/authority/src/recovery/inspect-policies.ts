import {
  checkStoredPolicy,
  licensePolicyForm,
  readJson,
  readOrUndefined,
  readReceived,
  readRecognitionPolicy,
  verifyReceivedPlainly,
} from '@chancery/protocol'
import type { Reader } from '../database/database.ts'
import { type InspectionNotes, pages, parse } from './manifest.ts'

const PAGE = 500
const LIMITS = { maxDepth: 64, maxValues: 250_000, maxNames: 50_000 }

/** Verifies policies of every kind: their signatures, and one active version of each. */
export async function inspectPolicies(
  db: Reader,
  publicKeys: readonly string[],
  notes: InspectionNotes,
): Promise<void> {
  await inspectManifests(db, notes)
  await inspectBoundaryPolicies(db, publicKeys, notes)
  await inspectLicenses(db, publicKeys, notes)
  await inspectRecognition(db, notes)
}

async function inspectManifests(db: Reader, notes: InspectionNotes): Promise<void> {
  const page = (after: number) =>
    db
      .selectFrom('policy_versions')
      .select(['position', 'policy_id', 'policy_json', 'active'])
      .where('position', '>', after)
      .orderBy('position')
      .limit(PAGE)
      .execute()
  const versions: Versions = { kind: 'policy', active: 0, count: 0 }
  for await (const row of pages(-1, page, (each) => each.position)) {
    const record = await notes.ownRecord('policy', String(row.position), row.policy_json)
    if (record !== undefined && record['policy_id'] !== row.policy_id)
      notes.problem(`policy ${row.position}: is another one`)
    tally(versions, row.active)
  }
  checkOneActive(versions, notes)
}

interface Versions {
  readonly kind: string
  active: number
  count: number
}

function tally(versions: Versions, active: number): void {
  versions.count += 1
  versions.active += active
}

/** A published policy is replaced, never removed: exactly one is active. */
function checkOneActive({ kind, active, count }: Versions, notes: InspectionNotes): void {
  if (count > 0 && active !== 1) notes.problem(`${kind}: ${active} versions are active`)
}

/** Versions of one id are 1, 2, 3 …; each is the signed text, and at most one is active. */
async function inspectBoundaryPolicies(
  db: Reader,
  publicKeys: readonly string[],
  notes: InspectionNotes,
): Promise<void> {
  const ids = await db.selectFrom('boundary_policies').select('policy_id').distinct().orderBy('policy_id').execute()
  for (const { policy_id } of ids) {
    const page = (after: number) =>
      db
        .selectFrom('boundary_policies')
        .selectAll()
        .where('policy_id', '=', policy_id)
        .where('version', '>', after)
        .orderBy('version')
        .limit(PAGE)
        .execute()
    let last = 0
    let active = 0
    for await (const row of pages(0, page, (each) => each.version)) {
      notes.saw('boundary policy')
      const name = `boundary policy ${policy_id} ${row.version}`
      const { problem } = await checkStoredPolicy(row, publicKeys)
      if (problem !== undefined) notes.problem(`${name}: ${problem}`)
      if (row.version !== last + 1) notes.problem(`${name}: follows ${last}`)
      last = row.version
      active += row.active
    }
    if (active > 1) notes.problem(`boundary policy ${policy_id}: ${active} versions are active`)
  }
}

async function inspectLicenses(db: Reader, publicKeys: readonly string[], notes: InspectionNotes): Promise<void> {
  const versions: Versions = { kind: 'data license', active: 0, count: 0 }
  for (const row of await db.selectFrom('data_license_policies').selectAll().orderBy('position').execute()) {
    notes.saw('data license')
    tally(versions, row.active)
    const name = `data license ${row.policy_id}`
    const received = readOrUndefined(() => readReceived(licensePolicyForm, readJson(row.policy_json, LIMITS)))
    if (received === undefined) notes.problem(`${name}: is not a record`)
    else if (received.record.policy_id !== row.policy_id) notes.problem(`${name}: is another one`)
    else if (!(await verifyReceivedPlainly(received, publicKeys)).ok)
      notes.problem(`${name}: its signature does not verify`)
  }
  checkOneActive(versions, notes)
}

/** A local, unsigned document: it must be readable, and one is active. */
async function inspectRecognition(db: Reader, notes: InspectionNotes): Promise<void> {
  const versions: Versions = { kind: 'recognition policy', active: 0, count: 0 }
  for (const row of await db.selectFrom('recognition_policies').selectAll().orderBy('position').execute()) {
    notes.saw('recognition policy')
    tally(versions, row.active)
    const record = parse(row.policy_json)
    if (record === undefined || readOrUndefined(() => readRecognitionPolicy(record)) === undefined)
      notes.problem(`recognition policy ${row.position}: is not a record`)
  }
  checkOneActive(versions, notes)
}
