import type { TreatyRow } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { at, authorityNow, readPublic, withParameters } from '../../client.ts'
import { networkFact } from '../../frame.tsx'
import { Copy, shortId } from '../../parts/id.tsx'
import { type Column, List, type ListPage, type ListProps, type ListRequest } from '../../parts/list.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { doHref } from '../../signing/review.tsx'
import { treatyHref } from './links.ts'
import type { TreatyPage } from './reads.ts'
import { treatyState } from './rows.ts'

const COLUMNS: readonly Column<TreatyRow>[] = [
  {
    head: 'With',
    phone: 'a',
    cell: ({ treaty }) => (
      <a class="name" href={treatyHref(treaty.treaty_id)}>
        {treaty.issuer_sovereign_id === networkFact('network')
          ? treaty.subject_sovereign_id
          : `${treaty.issuer_sovereign_id} → ${treaty.subject_sovereign_id}`}
      </a>
    ),
  },
  { head: 'State', phone: 'b', cell: (row) => <State {...treatyState(row, authorityNow())} /> },
  {
    head: 'Treaty',
    phone: 'c',
    cell: ({ treaty }) => (
      <span class="nowrap">
        <code class="id">{shortId(treaty.treaty_id)}</code>
        <Copy text={treaty.treaty_id} what="the treaty id" />
      </span>
    ),
  },
  { head: 'Risk', low: 'low', cell: ({ lifecycle }) => <span class="quiet">{lifecycle.expiry_risk}</span> },
  { head: 'Issued', low: 'low2', cell: ({ treaty }) => <Time at={treaty.issued_at} /> },
  {
    head: 'Ends',
    phone: 'd',
    cell: ({ treaty, lifecycle }) => <Time at={lifecycle.revoked_at ?? treaty.expires_at} />,
  },
  {
    head: 'Replaced by',
    low: 'low',
    cell: ({ lifecycle: { replacement_treaty_id: next, revocation_reason: reason } }) =>
      next === null ? (
        <span class="quiet">{reason ?? '–'}</span>
      ) : (
        <a class="mono" href={treatyHref(next)}>
          {shortId(next)}
        </a>
      ),
  },
]

async function load({ query, limit, cursor, signal }: ListRequest): Promise<ListPage<TreatyRow>> {
  const target = withParameters(at`/recognition-treaties`, {
    issuer_sovereign_id: networkFact('network'),
    q: query.get('q') ?? undefined,
    lifecycle: query.get('lifecycle') ?? undefined,
    sort: 'expires_at',
    limit,
    cursor,
  })
  const page = await readPublic<TreatyPage>(target, signal)
  return { rows: page.recognition_treaties, nextCursor: page.next_cursor ?? null }
}

export function TreatyList(props: {
  readonly tabs: NonNullable<ListProps<TreatyRow>['tabs']>
  readonly onLive: NonNullable<ListProps<TreatyRow>['onLive']>
}): JSX.Element {
  return (
    <List<TreatyRow>
      {...props}
      name="Treaties"
      topics={['treaties']}
      columns={COLUMNS}
      rowId={({ treaty }) => treaty.treaty_id}
      rowName={({ treaty }) => treaty.subject_sovereign_id}
      rowHref={({ treaty }) => treatyHref(treaty.treaty_id)}
      search={{ label: 'Find treaties with a network', placeholder: 'Begin of the name of the network' }}
      filters={[
        {
          parameter: 'lifecycle',
          label: 'State',
          choices: [
            { value: 'active', text: 'In force' },
            { value: 'expiring_soon', text: 'Ends within 72 h' },
            { value: 'expired', text: 'Expired' },
            { value: 'revoked', text: 'Ended' },
            { value: 'replaced', text: 'Replaced' },
          ],
        },
      ]}
      load={load}
      order="first to end first"
      empty={{
        icon: 'partners',
        title: 'No treaty yet',
        text: 'A treaty lets members of another network work here, within limits and until a date.',
        action: (
          <a class="btn primary" href={doHref('recognise')}>
            Recognise a partner
          </a>
        ),
      }}
    />
  )
}
