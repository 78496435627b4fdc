import type { AuthorityPools } from '../../outbound/authority-pools.ts'
import { OutboundFailure } from '../../outbound/call-url.ts'
import type { NetworkPolicy } from '../../policy/policy.ts'

const READ_MS = 4000
const READ_BYTES = 2_097_152
/** Of one list, for one refresh. */
export const MAX_PAGES = 50
const PAGE_ROWS = 500
/** A page that is too long is asked for again in smaller pieces, down to this many rows. */
const LEAST_ROWS = 8

/** What a page holds besides its rows; undefined for a document without them. */
export type TakePage = (bytes: Uint8Array) => Promise<{ readonly next: string | undefined } | undefined>

export interface PagedRead {
  readonly network: NetworkPolicy
  /** Path and query without the members of paging. */
  readonly target: string
  readonly take: TakePage
  /** On the monotonic clock of the platform. */
  readonly endMs: number
}

/** none: not even the first page. cut: some pages. whole: all of them. */
export type Reach = 'none' | 'cut' | 'whole'

/** Reads a list page by page until its end, the last page allowed, or the end of the time. */
export async function readPages(authorities: AuthorityPools, read: PagedRead): Promise<Reach> {
  let cursor: string | undefined
  let rows = PAGE_ROWS
  let taken = 0
  for (let asked = 0; asked < MAX_PAGES; asked += 1) {
    const query = `&limit=${rows}${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`
    const bytes = await readDocument(authorities, read.network, `${read.target}${query}`, read.endMs)
    if (bytes === 'too-large' && rows > LEAST_ROWS) {
      rows = Math.max(LEAST_ROWS, Math.floor(rows / 4))
      continue
    }
    const page = typeof bytes === 'string' ? undefined : await read.take(bytes)
    if (page === undefined) break
    taken += 1
    if (page.next === undefined || page.next === cursor) return 'whole'
    cursor = page.next
  }
  return taken === 0 ? 'none' : 'cut'
}

/** One document, without any credential (protocol/gateway 14.2). */
export async function readDocument(
  authorities: AuthorityPools,
  network: NetworkPolicy,
  target: string,
  endMs: number,
): Promise<Uint8Array | 'failed' | 'too-large'> {
  const timeoutMs = Math.min(READ_MS, endMs - performance.now())
  if (timeoutMs <= 0) return 'failed'
  try {
    const { status, body } = await authorities.send(network, {
      method: 'GET',
      target,
      headers: ['accept', 'application/json'],
      timeoutMs,
      maxBytes: READ_BYTES,
    })
    if (status !== 200) return 'failed'
    return body ?? 'too-large'
  } catch (error) {
    if (error instanceof OutboundFailure) return 'failed'
    throw error
  }
}
