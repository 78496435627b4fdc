import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { dashboard } from '../../dashboard.ts'
import type { PageProps } from '../../pages.ts'
import { Bar, type Liveness } from '../../parts/bar.tsx'
import { Icon } from '../../parts/drawer.tsx'
import { Acts, doHref } from '../../signing/review.tsx'
import { useStore } from '../../router.ts'
import { addAct, partnerHref, recogniseAct } from './acts.ts'
import { MemberList } from './member-list.tsx'
import { attestAct } from './member-acts.ts'
import { PartnerList } from './partner-list.tsx'
import { TreatyList } from './treaty-list.tsx'
import type { BlastRadius } from '@chancery/protocol'
import type { RevokedPage } from '@chancery/sdk'
import { at, readPublic, withParameters } from '../../client.ts'
import { Copy, shortId } from '../../parts/id.tsx'
import { type Column, List, type ListPage, type ListProps, type ListRequest } from '../../parts/list.tsx'
import { Time } from '../../parts/time.tsx'

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

function WithdrawnList(props: {
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

/** Whose members are accepted? One row per other network; tabs for treaties, own members and imported revocations. */
export function Page({ query }: PageProps): JSX.Element {
  const [live, setLive] = useState<Liveness>({ readAt: undefined, isStale: false })
  const [count, setCount] = useState<number>()
  const view = useStore(dashboard)?.value
  const tab = query.get('tab') ?? ''
  const tabs = {
    parameter: 'tab',
    label: 'Partners and treaties',
    of: [
      { value: '', text: 'Partners', count },
      { value: 'treaties', text: 'Treaties', count: view?.treaty_summary.total },
      { value: 'members', text: 'Our members abroad' },
      { value: 'withdrawn', text: 'Withdrawn by others', count: view?.connectome_summary.imported_revocation_count },
    ],
  }
  const props = { tabs, onLive: setLive }
  return (
    <>
      <Bar title="Partners & treaties" asks="Whose members do we accept, and until when?" live={live}>
        <BarActions tab={tab} />
      </Bar>
      {tab === 'treaties' ? (
        <TreatyList {...props} />
      ) : tab === 'members' ? (
        <MemberList {...props} />
      ) : tab === 'withdrawn' ? (
        <WithdrawnList {...props} />
      ) : (
        <PartnerList {...props} onCount={setCount} />
      )}
      <Acts of={[recogniseAct, addAct, attestAct]} query={query} />
    </>
  )
}

function BarActions({ tab }: { readonly tab: string }): JSX.Element {
  if (tab === 'members')
    return (
      <a class="btn primary" href={doHref('attest')}>
        <Icon name="plus" />
        Attest a member
      </a>
    )
  return (
    <>
      <a class="btn" href={doHref('add')}>
        Add a partner
      </a>
      <a class="btn primary" href={doHref('recognise')}>
        <Icon name="plus" />
        Recognise a partner
      </a>
    </>
  )
}
