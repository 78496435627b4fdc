import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { at, authorityNow, readPublic } from '../../client.ts'
import { Roles } from '../../parts/facts.tsx'
import { Copy, shortId } from '../../parts/id.tsx'
import { type Column, List, type ListPage, type ListProps, type ListRequest } from '../../parts/list.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { doHref } from '../../signing/review.tsx'
import { partnerHref } from './links.ts'
import { importedFeeds, readListed, readOwnTreaties, readTheirTreaties } from './reads.ts'
import { type PartnerRow, endState, filterRows, isInForce, partnerRows } from './rows.ts'

const NONE = <span class="quiet">–</span>

const COLUMNS: readonly Column<PartnerRow>[] = [
  {
    head: 'Partner',
    phone: 'a',
    cell: ({ id, label }) => (
      <>
        <a class="name" href={partnerHref(id)}>
          {id}
        </a>
        {label === null ? null : <span class="two quiet"> {label}</span>}
      </>
    ),
  },
  { head: 'State', phone: 'b', cell: ({ state }) => <State {...state} /> },
  {
    head: 'We recognise',
    low: 'low2',
    cell: ({ treaty }) =>
      treaty === undefined ? (
        <span class="quiet">no</span>
      ) : isInForce(treaty) ? (
        <State shape="circle" tone="good" word="in force" />
      ) : (
        <span class="quiet">
          {treaty.lifecycle.revoked_at === null ? 'expired ' : 'ended '}
          <Time at={treaty.lifecycle.revoked_at ?? treaty.treaty.expires_at} />
        </span>
      ),
  },
  { head: 'They recognise us', low: 'low', cell: (row) => <Theirs key={row.id} row={row} /> },
  {
    head: 'Roles accepted',
    phone: 'c',
    cell: ({ treaty }) =>
      treaty === undefined || !isInForce(treaty) ? NONE : <Roles roles={treaty.treaty.scope.allowed_roles} />,
  },
  {
    head: 'Ends',
    phone: 'd',
    cell: ({ treaty }) => (treaty === undefined || !isInForce(treaty) ? NONE : <Time at={treaty.treaty.expires_at} />),
  },
  {
    head: 'Revocation feed',
    cell: ({ feed }) =>
      feed === undefined ? (
        <span class="quiet">never imported</span>
      ) : (
        <>
          <span class={feed.freshness === 'fresh' ? '' : 'warn'}>
            <Time at={feed.imported_at} />
          </span>{' '}
          <span class="quiet">· {feed.sequence}</span>
        </>
      ),
  },
  { head: 'Withdrawn', isNumber: true, low: 'low', cell: ({ feed }) => feed?.revoked_count ?? 0 },
]

/** Their side: read once for each shown row of a network that the authority reads. */
function Theirs({ row }: { readonly row: PartnerRow }): JSX.Element {
  const { id, listed } = row
  const canAsk = (listed?.treaties?.active ?? 0) > 0
  const [end, setEnd] = useState<string | null>()
  useEffect(() => {
    if (!canAsk) return undefined
    const abort = new AbortController()
    readTheirTreaties(id, abort.signal).then(
      (found) =>
        setEnd(
          found
            .map(({ treaty }) => treaty.expires_at)
            .toSorted()
            .at(-1) ?? null,
        ),
      () => undefined,
    )
    return () => abort.abort()
  }, [id, canAsk])
  if (listed?.treaties?.active === 0 || end === null) return <span class="quiet">no</span>
  if (end === undefined) return <span class="quiet">not read</span>
  const state = endState(end, authorityNow())
  return <State {...state} word={state.word.toLowerCase()} />
}

export function PartnerList(props: {
  readonly tabs: NonNullable<ListProps<PartnerRow>['tabs']>
  readonly onLive: NonNullable<ListProps<PartnerRow>['onLive']>
  readonly onCount: (count: number) => void
}): JSX.Element {
  const load = async ({ query, limit, cursor, signal }: ListRequest): Promise<ListPage<PartnerRow>> => {
    const [treaties, partners] = await Promise.all([readOwnTreaties(undefined, signal), readListed(signal)])
    const all = partnerRows(treaties, partners, importedFeeds(), authorityNow())
    props.onCount(all.length)
    const value = (name: string): string => query.get(name) ?? ''
    const found = filterRows(all, { q: value('q'), state: value('state'), role: value('role') })
    const from = Number(cursor ?? 0)
    const isMore = found.length > from + limit
    return {
      rows: found.slice(from, from + limit),
      nextCursor: isMore ? String(from + limit) : null,
      total: found.length,
    }
  }
  return (
    <List<PartnerRow>
      name="Partners"
      topics={['partners']}
      columns={COLUMNS}
      rowId={({ id }) => id}
      rowName={({ id }) => id}
      rowHref={({ id }) => partnerHref(id)}
      tabs={props.tabs}
      search={{ label: 'Find a partner', placeholder: 'Network, label or treaty id' }}
      filters={[
        {
          parameter: 'state',
          label: 'State',
          choices: [
            { value: 'watch', text: 'Needs attention' },
            { value: 'good', text: 'In order' },
            { value: 'ended', text: 'Ended or no treaty' },
          ],
        },
        { parameter: 'role', label: 'Role', placeholder: 'role:client' },
      ]}
      load={load}
      order="most urgent first"
      aside={<Graph />}
      empty={{
        icon: 'partners',
        title: 'No partner yet',
        text: 'A treaty lets members of another network work here, within limits and until a date.',
        action: (
          <a class="btn primary" href={doHref('recognise')}>
            Recognise a partner
          </a>
        ),
      }}
      onLive={props.onLive}
    />
  )
}

/** The digest of the recognition graph, to compare with another reader, and the map. */
function Graph(): JSX.Element {
  const [digest, setDigest] = useState('')
  useEffect(() => {
    const abort = new AbortController()
    readPublic<{ readonly graph_digest: string }>(at`/atlas.json`, abort.signal).then(
      ({ graph_digest }) => setDigest(graph_digest.replace(/^sha256:/, '')),
      () => undefined,
    )
    return () => abort.abort()
  }, [])
  return (
    <>
      <a href="/connectome">Map</a>
      {digest === '' ? null : (
        <span class="nowrap">
          {' '}
          graph <code class="id">{shortId(digest)}</code>
          <Copy text={digest} what="the digest of the graph" />
        </span>
      )}
    </>
  )
}
