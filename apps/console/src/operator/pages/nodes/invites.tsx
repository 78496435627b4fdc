import type { InvitePage, InviteRow } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { at, read } from '../../client.ts'
import { nodeHref } from '../../node-key.ts'
import type { Liveness } from '../../parts/bar.tsx'
import { Roles } from '../../parts/facts.tsx'
import type { Tab } from '../../parts/filters.tsx'
import { Id, shortId } from '../../parts/id.tsx'
import { type Column, List, type ListPage, type ListRequest } from '../../parts/list.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { withQuery } from '../../router.ts'
import { doHref } from '../../signing/review.tsx'

const COLUMNS: readonly Column<InviteRow>[] = [
  {
    head: 'Invite',
    phone: 'a',
    cell: ({ token_fingerprint }) => <Id id={token_fingerprint} what="the fingerprint of the invite" />,
  },
  { head: 'State', phone: 'b', cell: (row) => <State {...inviteState(row.state)} /> },
  { head: 'Roles', phone: 'c', cell: (row) => <Roles roles={row.roles} /> },
  { head: 'Made by', low: 'low2', cell: (row) => row.created_by ?? <span class="quiet">not stored</span> },
  { head: 'Made', low: 'low', cell: (row) => <Time at={row.created_at} /> },
  { head: 'Valid until', cell: (row) => <Time at={row.expires_at} /> },
  {
    head: 'Used by',
    low: 'low2',
    cell: ({ used_by_key: key }) =>
      key === null ? <span class="quiet">–</span> : <a href={nodeHref(key)}>{shortId(key)}</a>,
  },
  {
    head: 'Action',
    phone: 'd',
    cell: ({ state, token_fingerprint }) =>
      state === 'open' ? (
        <a
          class="btn tiny danger"
          href={withQuery({ do: 'withdraw', invite_id: token_fingerprint })}
          aria-label={`Withdraw ${token_fingerprint}`}
        >
          Withdraw…
        </a>
      ) : null,
  },
]

const STATES = {
  open: { shape: 'dashed', tone: 'watch', word: 'Open' },
  used: { shape: 'tick', tone: 'good', word: 'Used' },
  withdrawn: { shape: 'cross', tone: 'ended', word: 'Withdrawn' },
  expired: { shape: 'dash', tone: 'ended', word: 'Expired' },
} as const

function inviteState(state: InviteRow['state']): Parameters<typeof State>[0] {
  return STATES[state]
}

/** The invites, as a tab of the nodes. Open ones when no state is chosen. */
export function Invites(props: {
  readonly tabs: readonly Tab[]
  readonly onLive: (live: Liveness) => void
}): JSX.Element {
  return (
    <List<InviteRow>
      key="invites"
      name="Invites"
      topics={['invites']}
      columns={COLUMNS}
      rowId={(row) => row.token_fingerprint}
      rowName={(row) => row.token_fingerprint}
      tabs={{ parameter: 'state', label: 'State of the nodes', of: props.tabs, chosen: 'invites' }}
      filters={[
        {
          parameter: 'invites',
          label: 'Not only open ones',
          choices: [
            { value: 'all', text: 'all' },
            { value: 'used', text: 'used' },
            { value: 'withdrawn', text: 'withdrawn' },
            { value: 'expired', text: 'expired' },
          ],
        },
        { parameter: 'created_by', label: 'Made by', placeholder: 'operator key id' },
      ]}
      load={load}
      order="oldest first"
      empty={{
        icon: 'node',
        title: 'No open invite',
        text: 'An invite lets one node join. Its token is shown once, when you make it.',
        action: (
          <a class="btn primary" href={doHref('invite')}>
            Invite a node
          </a>
        ),
      }}
      onLive={props.onLive}
    />
  )
}

async function load({ query, limit, cursor, signal }: ListRequest): Promise<ListPage<InviteRow>> {
  const page = await read<InvitePage>(
    at`/admin/invites`,
    {
      state: query.get('invites') ?? undefined,
      created_by: query.get('created_by') ?? undefined,
      limit,
      cursor,
    },
    signal,
  )
  return { rows: page.invites, nextCursor: page.next_cursor ?? null }
}
