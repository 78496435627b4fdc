import type { AttestationRow } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { plain } from '../../../components/plain.ts'
import { at, authorityNow, read } from '../../client.ts'
import { Roles } from '../../parts/facts.tsx'
import { Copy, shortId } from '../../parts/id.tsx'
import { type Column, List, type ListPage, type ListProps, type ListRequest } from '../../parts/list.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { doHref } from '../../signing/review.tsx'
import { attestationHref } from './member-acts.ts'
import { memberState } from './member-state.ts'

const COLUMNS: readonly Column<AttestationRow>[] = [
  {
    head: 'Member',
    phone: 'a',
    cell: ({ attestation }) => (
      <a class="name" href={attestationHref(attestation.attestation_id)}>
        {attestation.subject_id}
      </a>
    ),
  },
  { head: 'State', phone: 'b', cell: (row) => <State {...memberState(row, authorityNow())} /> },
  { head: 'Roles', phone: 'c', cell: ({ attestation }) => <Roles roles={attestation.roles} /> },
  {
    head: 'Claims',
    low: 'low',
    cell: ({ attestation: { claims } }) => (
      <span class="quiet">
        {Object.keys(claims).length === 0
          ? '–'
          : Object.entries(claims)
              .map(([name, value]) => `${name}: ${plain(value)}`)
              .join(', ')}
      </span>
    ),
  },
  { head: 'Issued', low: 'low2', cell: ({ attestation }) => <Time at={attestation.issued_at} /> },
  { head: 'Ends', phone: 'd', cell: ({ attestation }) => <Time at={attestation.expires_at} /> },
  {
    head: 'Attestation',
    low: 'low2',
    cell: ({ attestation: { attestation_id } }) => (
      <span class="nowrap">
        <code class="id">{shortId(attestation_id)}</code>
        <Copy text={attestation_id} what="the attestation id" />
      </span>
    ),
  },
]

interface AttestationPage {
  readonly attestations: readonly AttestationRow[]
  readonly next_cursor?: string | null
}

async function load({ query, limit, cursor, signal }: ListRequest): Promise<ListPage<AttestationRow>> {
  const page = await read<AttestationPage>(
    at`/attestations`,
    { subject_id: query.get('q') ?? undefined, status: query.get('status') ?? undefined, limit, cursor },
    signal,
  )
  return { rows: page.attestations, nextCursor: page.next_cursor ?? null }
}

export function MemberList(props: {
  readonly tabs: NonNullable<ListProps<AttestationRow>['tabs']>
  readonly onLive: NonNullable<ListProps<AttestationRow>['onLive']>
}): JSX.Element {
  return (
    <List<AttestationRow>
      {...props}
      name="Members"
      topics={['members']}
      columns={COLUMNS}
      rowId={({ attestation }) => attestation.attestation_id}
      rowName={({ attestation }) => attestation.subject_id}
      rowHref={({ attestation }) => attestationHref(attestation.attestation_id)}
      search={{ label: 'Find a member', placeholder: 'Whole name of the member' }}
      filters={[
        {
          parameter: 'status',
          label: 'Status',
          choices: [
            { value: 'active', text: 'Active' },
            { value: 'revoked', text: 'Withdrawn' },
          ],
        },
      ]}
      load={load}
      order="oldest first"
      empty={{
        icon: 'partners',
        title: 'No member attested yet',
        text: 'An attestation lets a partner accept a member of this network.',
        action: (
          <a class="btn primary" href={doHref('attest')}>
            Attest a member
          </a>
        ),
      }}
    />
  )
}
