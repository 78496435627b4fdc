import type { StoreAnchor } from '@chancery/protocol'
import type { StoreStatus } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { at, read } from '../../client.ts'
import { offerFile } from '../../parts/file.ts'
import { Icon } from '../../parts/icon.tsx'
import { Id } from '../../parts/id.tsx'
import { type Column, List, type ListPage, type ListRequest } from '../../parts/list.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { withQuery } from '../../router.ts'
import { doHref } from '../../signing/review.tsx'
import type { ViewProps } from './status.ts'

interface AnchorRow {
  readonly anchor: StoreAnchor
  readonly isSigned: boolean
}

const COLUMNS: readonly Column<AnchorRow>[] = [
  { head: 'Anchor', phone: 'a', cell: ({ anchor }) => <b>{anchor.anchor_sequence}</b> },
  {
    head: 'Entry',
    phone: 'c',
    cell: ({ anchor }) => (
      <a class="id" href={withQuery({ view: undefined, entry: String(anchor.store_sequence) })}>
        #{anchor.store_sequence}
      </a>
    ),
  },
  { head: 'Digest', low: 'low', cell: ({ anchor }) => <Id id={anchor.entry_digest} what="the digest" /> },
  { head: 'Signed', phone: 'd', cell: ({ anchor }) => <Time at={anchor.anchored_at} /> },
  {
    head: 'Signature',
    phone: 'b',
    cell: ({ isSigned }) => (
      <State
        shape={isSigned ? 'tick' : 'square'}
        tone={isSigned ? 'good' : 'bad'}
        word={isSigned ? 'Verified' : 'Invalid'}
      />
    ),
  },
  {
    head: 'File',
    low: 'low2',
    cell: ({ anchor }) => (
      <button type="button" class="btn ghost tiny" onClick={() => saveAnchor(anchor)}>
        <Icon name="file" />
        Save anchor {anchor.anchor_sequence}
      </button>
    ),
  },
]

export function saveAnchor(anchor: StoreAnchor): void {
  offerFile(`anchor-${anchor.anchor_sequence}.json`, JSON.stringify(anchor, null, 2))
}

/** Signed heads of the store. A copy elsewhere detects a store that was rewritten. */
export function Anchors({ onLive }: ViewProps): JSX.Element {
  return (
    <List<AnchorRow>
      name="Anchors"
      topics={['evidence']}
      columns={COLUMNS}
      rowId={({ anchor }) => String(anchor.anchor_sequence)}
      rowName={({ anchor }) => `anchor ${anchor.anchor_sequence}`}
      load={load}
      order="newest first"
      empty={{
        icon: 'evidence',
        title: 'No anchor yet',
        text: 'An anchor is the signed head of the store. Save it where this authority cannot write.',
        action: (
          <a class="btn primary" href={doHref('anchor')}>
            Anchor…
          </a>
        ),
      }}
      onLive={onLive}
    />
  )
}

/** Anchors are listed oldest first, and have no gaps: a page is read by its numbers. */
async function load({ limit, cursor, signal }: ListRequest): Promise<ListPage<AnchorRow>> {
  const status = await read<StoreStatus>(at`/admin/evidence/status`, {}, signal)
  const end = cursor === undefined ? (status.latest_anchor?.anchor_sequence ?? 0) : Number(cursor)
  const after_anchor = Math.max(end - limit, 0)
  const query = { after_anchor, limit }
  const page = await read<{ readonly anchors: readonly StoreAnchor[] }>(at`/admin/evidence/anchors`, query, signal)
  const anchors = page.anchors.filter(({ anchor_sequence }) => anchor_sequence <= end).toReversed()
  const { verifyAnchors } = await import('../../proof/check-store.ts')
  const signed = await verifyAnchors(anchors)
  return {
    rows: anchors.map((anchor, index) => ({ anchor, isSigned: signed[index] === true })),
    nextCursor: after_anchor === 0 ? null : String(after_anchor),
  }
}
