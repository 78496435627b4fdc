import type { ListedPartner, TreatyRow } from '@chancery/sdk/authority'
import { CallError, at, read, readPublic, withParameters } from '../../client.ts'
import { dashboard } from '../../dashboard.ts'
import { networkFact } from '../../frame.tsx'
import type { FeedRow } from './rows.ts'

const PAGE = 1000
/** Most treaties that the list of partners reads. */
export const MOST_TREATIES = 3000

export interface TreatyPage {
  readonly recognition_treaties: readonly TreatyRow[]
  readonly next_cursor?: string | null
}

/** Reads the treaties that this network issued, for one partner or for all, up to a bound. */
export async function readOwnTreaties(subject: string | undefined, signal: AbortSignal): Promise<readonly TreatyRow[]> {
  const rows: TreatyRow[] = []
  let cursor: string | null | undefined
  do {
    const target = withParameters(at`/recognition-treaties`, {
      issuer_sovereign_id: networkFact('network'),
      subject_sovereign_id: subject,
      limit: PAGE,
      cursor: cursor ?? undefined,
    })
    const page = await readPublic<TreatyPage>(target, signal)
    rows.push(...page.recognition_treaties)
    cursor = page.next_cursor
  } while (cursor !== undefined && cursor !== null && rows.length < MOST_TREATIES)
  return rows
}

/** Reads the partners whose material the authority reads. None when this is off. */
export async function readListed(signal: AbortSignal): Promise<readonly ListedPartner[]> {
  const page = await orUndefined(
    read<{ readonly partners: readonly ListedPartner[] }>(at`/admin/partners`, { limit: PAGE }, signal),
  )
  return page?.partners ?? []
}

/** Returns undefined for a thing that the authority does not have, or for a part that is off. */
export async function orUndefined<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof CallError && (error.status === 404 || error.code === 'partners_disabled')) return undefined
    throw error
  }
}

/** The imported feeds, from the public summary that the frame reads. */
export function importedFeeds(): readonly FeedRow[] {
  return (dashboard.get()?.value?.revocation_feeds ?? []) as unknown as readonly FeedRow[]
}

interface ReportedTreaty {
  readonly treaty: TreatyRow['treaty']
  readonly as_of: string | null
}

/** Reads the treaties in which a partner recognises this network, as the partner reports them. */
export async function readTheirTreaties(id: string, signal?: AbortSignal): Promise<readonly ReportedTreaty[]> {
  const page = await read<{ readonly treaties: readonly ReportedTreaty[] }>(
    at`/admin/partners/${id}/treaties`,
    { limit: PAGE },
    signal,
  )
  return page.treaties.filter(({ treaty }) => treaty.subject_sovereign_id === networkFact('network'))
}
