import type { RejectedEvidence, RejectionPage } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { at, read } from '../../client.ts'
import { Id, shortId } from '../../parts/id.tsx'
import { type Column, List, type ListPage, type ListRequest } from '../../parts/list.tsx'
import { Time } from '../../parts/time.tsx'
import { withQuery } from '../../router.ts'
import { resourceHref } from '../history/links.ts'
import type { ViewProps } from './status.ts'

const none = <span class="quiet">–</span>

/** The names are those that the record claimed. Its signer may be unknown, so they prove nothing. */
const COLUMNS: readonly Column<RejectedEvidence>[] = [
  { head: 'Reason', phone: 'a', cell: ({ code }) => <b class="name">{code}</b> },
  { head: 'Records', phone: 'b', isNumber: true, cell: ({ count }) => count.toLocaleString('en') },
  { head: 'Claimed executor', phone: 'c', cell: ({ executor_sovereign_id }) => executor_sovereign_id ?? none },
  {
    head: 'Claimed resource',
    low: 'low2',
    cell: ({ resource_id }) => (resource_id === null ? none : <a href={resourceHref(resource_id)}>{resource_id}</a>),
  },
  {
    head: 'Claimed decision',
    low: 'low',
    cell: ({ decision_id }) =>
      decision_id === null ? (
        none
      ) : (
        <a class="id" href={`/operator/decisions/${encodeURIComponent(decision_id)}`}>
          {shortId(decision_id)}
        </a>
      ),
  },
  {
    head: 'Digest of the record',
    low: 'low2',
    cell: ({ submitted_digest }) => <Id id={submitted_digest} what="the digest" />,
  },
  { head: 'Refused', phone: 'd', cell: ({ rejected_at }) => <Time at={rejected_at} /> },
  {
    head: 'Entry',
    low: 'low',
    cell: ({ store_sequence }) =>
      store_sequence === null ? (
        none
      ) : (
        <a class="id" href={withQuery({ view: undefined, entry: String(store_sequence) })}>
          #{store_sequence}
        </a>
      ),
  },
]

/** Records that the authority refused. The records are not stored, only their digest and the claimed names. */
export function Rejections({ onLive }: ViewProps): JSX.Element {
  return (
    <List<RejectedEvidence>
      name="Refused records"
      topics={['evidence']}
      columns={COLUMNS}
      rowId={({ rejection_id }) => rejection_id}
      rowName={({ code }) => code}
      load={load}
      order="newest first. Names are as claimed; the records are not stored"
      empty={{
        icon: 'evidence',
        title: 'No record was refused',
        text: 'A record is refused when its signature, its decision or its place in the chain does not verify.',
        action: (
          <a class="btn" href={withQuery({ view: 'keys' })}>
            Open executor keys
          </a>
        ),
      }}
      onLive={onLive}
    />
  )
}

async function load({ limit, cursor, signal }: ListRequest): Promise<ListPage<RejectedEvidence>> {
  const page = await read<RejectionPage>(at`/admin/evidence/rejections`, { limit, cursor }, signal)
  return { rows: page.rejections, nextCursor: page.next_cursor }
}
