import type { AuthorityPools } from '../../outbound/authority-pools.ts'
import { OutboundError } from '@chancery/service-kit'
import type { NetworkPolicy } from '../../policy/policy.ts'

const READ_MS = 4000
const READ_BYTES = 2_097_152
/** Pages of one list in one refresh. */
export const MAX_PAGES = 50
const PAGE_ROWS = 500
/** A page that is too large is requested again with fewer rows, down to this number. */
const LEAST_ROWS = 8

/** Reads a page and returns its next cursor, or undefined for a malformed document. */
export type ReadPage = (bytes: Uint8Array) => Promise<{ readonly next: string | undefined } | undefined>

export interface PagedRead {
  readonly network: NetworkPolicy
  /** Path and query without the parameters of paging. */
  readonly target: string
  readonly readPage: ReadPage
  /** On the monotonic clock of the platform. */
  readonly endMs: number
}

/** none: no page was read. cut: some pages. whole: all pages. */
export type ReadExtent = 'none' | 'cut' | 'whole'

/** Reads a list page by page until its end, the page limit or the time limit. */
export async function readPages(authorities: AuthorityPools, read: PagedRead): Promise<ReadExtent> {
  let cursor: string | undefined
  let rows = PAGE_ROWS
  let taken = 0
  for (let requests = 0; requests < MAX_PAGES; requests += 1) {
    const query = `&limit=${rows}${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`
    const bytes = await readDocument(authorities, read.network, `${read.target}${query}`, read.endMs)
    if (bytes === 'too-large' && rows > LEAST_ROWS) {
      rows = Math.max(LEAST_ROWS, Math.floor(rows / 4))
      continue
    }
    const page = typeof bytes === 'string' ? undefined : await read.readPage(bytes)
    if (page === undefined) break
    taken += 1
    if (page.next === undefined || page.next === cursor) return 'whole'
    cursor = page.next
  }
  return taken === 0 ? 'none' : 'cut'
}

/** Reads one document without a credential (protocol/gateway 14.2). */
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
    if (error instanceof OutboundError) return 'failed'
    throw error
  }
}
