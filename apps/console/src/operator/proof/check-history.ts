import { StoreChecker, readEventLine } from '@chancery/protocol'
import { at, read } from '../client.ts'
import { failureText } from '../words/evidence.ts'
import { readExecutors, readGenesis, withHistory } from './gather.ts'

const MAX_PROBLEMS = 20

/** Whose history it is: of one resource or of one vendor. */
export type HistoryOf = { readonly resource: string } | { readonly vendor: string }

/**
 * Verifies the lines of one history: digests, envelopes, signatures, whose they are, and the chains of decisions and
 * resources. A line that was left out at the end cannot be detected here.
 */
export async function checkHistory(lines: readonly string[], of: HistoryOf): Promise<readonly string[]> {
  const executors = await readExecutors()
  const events = lines.map((line) => readEventLine(line))
  const other = events.find((event) => event !== undefined && !isOf(event.entry, of))
  if (other !== undefined) return [`Entry #${other.entry.store_sequence} belongs to another history`]
  const [first] = events
  const authority = await withHistory(
    await readGenesis(),
    first === undefined ? [] : [{ issued_at: first.entry.recorded_at }],
  )
  const checker = new StoreChecker({
    keys: { authority, executor: (id) => executors.get(id) },
    scope: 'view',
    // After retention the first records of a resource may be gone, and the chain does not begin with number 1.
    ...('resource' in of && !(await hasRemoved()) ? { resource: of.resource } : {}),
  })
  for (const line of lines) await checker.add(line)
  const { failures } = await checker.finish()
  return failures.slice(0, MAX_PROBLEMS).map(failureText)
}

function isOf(
  entry: { readonly entry_kind: string; readonly vendor_id: string | null; readonly resource_id: string | null },
  of: HistoryOf,
): boolean {
  if ('vendor' in of) return entry.vendor_id === of.vendor
  // Decisions and justifications name no resource.
  return entry.entry_kind !== 'execution' || entry.resource_id === of.resource
}

async function hasRemoved(): Promise<boolean> {
  const { retention_checkpoint } = await read<{ readonly retention_checkpoint: number | null }>(
    at`/admin/evidence/status`,
  )
  return retention_checkpoint !== null
}
