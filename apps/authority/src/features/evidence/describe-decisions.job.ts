import {
  FormError,
  boundaryDecisionForm,
  contextRecordForm,
  isJsonObject,
  readReceived,
  readStoredLine,
} from '@chancery/protocol'
import { type Lease, checkLease, withLease } from '../../database/locks/leases.ts'
import { type Described, decisionFacts } from './decision-facts.ts'
import type { EvidenceParts } from './store-verifier.ts'
import { lockEvidenceHead, readEvidenceHead } from './queries/chain.ts'
import { describeDecisions, listUndescribed, moveFactsHead, readFactsHead } from './queries/decision-facts.ts'

/** Decisions per transaction, which holds the lock of the chain. */
const BATCH = 200
/** Entries that one statement looks through. */
const WINDOW = 20_000
const LEASE_SECONDS = 300

/**
 * Describes and counts decisions whose entries came without facts: those of earlier releases, of an instance that is
 * not upgraded yet, and imported ones. Otherwise there is nothing to do.
 */
export async function describeStored(parts: EvidenceParts, signal: AbortSignal): Promise<void> {
  if (!parts.settings.evidenceStore) return
  const db = parts.database.read
  const [head, { described_through }] = [await readEvidenceHead(db), await readFactsHead(db)]
  if (described_through >= head.last_sequence) return
  await withLease(parts, 'evidence-facts', LEASE_SECONDS, async (lease) => {
    for (let at = described_through; at < head.last_sequence && !signal.aborted;)
      at = await describeWindow(parts, lease, at, Math.min(at + WINDOW, head.last_sequence))
  })
}

/** Returns how far all decisions are described. */
async function describeWindow(parts: EvidenceParts, lease: Lease, after: number, through: number): Promise<number> {
  const rows = await listUndescribed(parts.database.read, { after, through, limit: BATCH })
  const reached = rows.length === BATCH ? (rows.at(-1)?.store_sequence ?? through) : through
  const described = rows.flatMap(({ line }) => describe(line))
  await parts.database.write(async (tx) => {
    await checkLease(tx, lease)
    if (described.length > 0) await lockEvidenceHead(tx)
    await describeDecisions(tx, described)
    await moveFactsHead(tx, reached)
  })
  return reached
}

/** A line that has no decision was changed in the database: it has no facts, and the verification reports it. */
function describe(line: string): readonly Described[] {
  const event = readStoredLine(line)
  const payload = event?.payload
  if (event === undefined || payload === undefined || !isJsonObject(payload)) return []
  try {
    const decision = readReceived(boundaryDecisionForm, payload['decision'] ?? null).record
    const context = readReceived(contextRecordForm, payload['context'] ?? null).record
    return [{ entry: event.entry, facts: decisionFacts(decision, context) }]
  } catch (error) {
    if (error instanceof FormError) return []
    throw error
  }
}
