import type { BlastRadius } from '@chancery/protocol'
import type { RevokedPage } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { at, readPublic, withParameters } from '../../client.ts'
import { Copy, shortId } from '../../parts/id.tsx'
import { type Column, List, type ListPage, type ListProps, type ListRequest } from '../../parts/list.tsx'
import { Time } from '../../parts/time.tsx'
import { doHref } from '../../signing/review.tsx'
import { partnerHref } from './links.ts'

const SHOWN = 3

const COLUMNS: readonly Column<BlastRadius>[] = [
  {
    head: 'Attestation',
    phone: 'a',
    cell: ({ id }) => (
      <span class="nowrap">
        <code class="id">{shortId(id, 16)}</code>
        <Copy text={id} what="the attestation id" />
      </span>
    ),
  },
  {
    head: 'Withdrawn by',
    phone: 'b',
    cell: ({ issuer_sovereign_id: issuer }) => (
      <a class="name" href={partnerHref(issuer)}>
        {issuer}
      </a>
    ),
  },
  { head: 'Reason', phone: 'c', cell: ({ reason }) => reason ?? <span class="quiet">none</span> },
  { head: 'Imported', phone: 'd', cell: ({ revoked_at }) => <Time at={revoked_at} /> },
  { head: 'Feed', low: 'low2', isNumber: true, cell: ({ sequence }) => sequence },
  {
    head: 'Accepted by',
    low: 'low',
    cell: ({ affected_accepting_sovereigns: names }) => (
      <span title={names.join(', ')}>
        {names.slice(0, SHOWN).join(', ')}
        {names.length > SHOWN ? ` and ${names.length - SHOWN} more` : ''}
      </span>
    ),
  },
]

async function load({ limit, cursor, signal }: ListRequest): Promise<ListPage<BlastRadius>> {
  const target = withParameters(at`/connectome.json`, { view: 'revoked', limit, cursor })
  const page = await readPublic<RevokedPage>(target, signal)
  return { rows: page.revocation_blast_radius, nextCursor: page.next_cursor }
}

export function WithdrawnList(props: {
  readonly tabs: NonNullable<ListProps<BlastRadius>['tabs']>
  readonly onLive: NonNullable<ListProps<BlastRadius>['onLive']>
}): JSX.Element {
  return (
    <List<BlastRadius>
      {...props}
      name="Withdrawn attestations"
      topics={['partners', 'members']}
      columns={COLUMNS}
      rowId={({ id, issuer_sovereign_id: issuer }) => `${issuer} ${id}`}
      rowName={({ id }) => id}
      load={load}
      order="by network"
      empty={{
        icon: 'partners',
        title: 'No revocation imported yet',
        text: 'The authority imports the revocation feeds of added partners, or import one on the page of a partner.',
        action: (
          <a class="btn primary" href={doHref('add')}>
            Add a partner
          </a>
        ),
      }}
    />
  )
}
