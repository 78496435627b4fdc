import type { NodePage, NodeState, NodeSummary } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { at, read } from '../../client.ts'
import { confirmedName, nodeHref, nodeName } from '../../node-key.ts'
import type { PageProps } from '../../pages.ts'
import { Bar, type Liveness } from '../../parts/bar.tsx'
import { Roles } from '../../parts/facts.tsx'
import type { Filter, Tab } from '../../parts/filters.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Copy, shortId } from '../../parts/id.tsx'
import { lazyDrawer } from '../../parts/lazy.tsx'
import { type Column, List, type ListPage, type ListRequest } from '../../parts/list.tsx'
import type { Tone } from '../../parts/icons.ts'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { navigate, withQuery } from '../../router.ts'
import { Acts, doHref } from '../../signing/review.tsx'
import type { ExportProps } from './export.tsx'
import { inviteAct } from './invite.tsx'
import { Invites } from './invites.tsx'
import { nodeQuery } from './node-query.ts'
import { nodeState } from './node-state.ts'
import { revokeAct } from './revoke.ts'
import { withdrawActs } from './withdraw.ts'

const TABS: readonly { readonly value: NodeState | ''; readonly text: string; readonly tone?: Tone }[] = [
  { value: '', text: 'All' },
  { value: 'active', text: 'Active' },
  { value: 'silent', text: 'Silent', tone: 'watch' },
  { value: 'ends_soon', text: 'Ends within 24 h', tone: 'urgent' },
  { value: 'superseded', text: 'Superseded' },
  { value: 'revoked', text: 'Revoked' },
  { value: 'expired', text: 'Expired' },
]
const INVITES: Tab = { value: 'invites', text: 'Invites', href: '/operator/nodes?tab=invites' }

const FILTERS: readonly Filter[] = [
  { parameter: 'role', label: 'Role', placeholder: 'role:client' },
  {
    parameter: 'has_agent',
    label: 'Agent',
    choices: [
      { value: 'true', text: 'with an agent' },
      { value: 'false', text: 'without an agent' },
    ],
  },
  { parameter: 'joined_since', label: 'Joined since', placeholder: '2026-01-01T00:00:00Z' },
]

const COLUMNS: readonly Column<NodeSummary>[] = [
  {
    head: 'Node',
    phone: 'a',
    cell: (row) => (
      <>
        <span class="two">
          <a class="name" href={nodeHref(row.node_public_key)}>
            {nodeName(row)}
          </a>
        </span>
        <span class="two id">
          {shortId(row.node_public_key, 12)}
          <Copy text={row.node_public_key} what="the node key" />
        </span>
      </>
    ),
  },
  { head: 'State', phone: 'b', cell: (row) => <State {...nodeState(row.state)} /> },
  { head: 'Roles', phone: 'c', cell: (row) => <Roles roles={row.roles} /> },
  {
    head: 'Last heartbeat',
    phone: 'd',
    cell: (row) => (row.last_heartbeat === null ? <span class="quiet">none</span> : <Time at={row.last_heartbeat} />),
  },
  { head: 'Certificate ends', cell: (row) => <Time at={row.expires_at} /> },
  {
    head: 'Agent',
    low: 'low2',
    cell: (row) =>
      row.agent_id === null ? (
        <span class="quiet">–</span>
      ) : (
        <>
          <span class="two">{row.agent_id}</span>
          <span class="two id">{row.capabilities[0] ?? ''}</span>
        </>
      ),
  },
  { head: 'Address', low: 'low', cell: (row) => <span class="mono quiet">{row.remote_addr ?? '–'}</span> },
]

const EMPTY = {
  icon: 'node',
  title: 'No node has joined yet',
  text: 'A node joins with an invite that you make here.',
  action: (
    <a class="btn primary" href="/operator/nodes?do=invite">
      Invite a node
    </a>
  ),
} as const

const ExportLink = (): JSX.Element => (
  <a class="btn tiny wide-only" href={doHref('export')}>
    Export nodes…
  </a>
)

/** Which nodes are in the network, and which are silent? One row per node key, with the invites as a tab. */
export function Page({ query }: PageProps): JSX.Element {
  const [live, setLive] = useState<Liveness>({ readAt: undefined, isStale: false })
  const [counts, setCounts] = useState<NodePage['counts']>(null)
  const chosen = useRef<readonly NodeSummary[]>([])
  const shown = useRef<readonly NodeSummary[]>([])
  const isInvites = query.get('tab') === 'invites'
  const tabs = [...TABS.map((tab) => ({ ...tab, count: countOf(counts, tab.value) })), INVITES]
  return (
    <>
      <Bar title="Nodes" asks="Which nodes are in the network, and which are silent?" live={live}>
        <a class="btn primary" href={doHref('invite')}>
          <Icon name="plus" />
          Invite a node
        </a>
      </Bar>
      {isInvites ? (
        <Invites tabs={tabs} onLive={setLive} />
      ) : (
        <List<NodeSummary>
          key="nodes"
          name="Nodes"
          topics={['nodes', 'agents']}
          columns={COLUMNS}
          rowId={(row) => row.node_public_key}
          rowName={nodeName}
          rowHref={(row) => nodeHref(row.node_public_key)}
          tabs={{ parameter: 'state', label: 'State of the nodes', of: tabs }}
          search={{ label: 'Find a node', placeholder: 'Label, key, certificate, agent or address' }}
          filters={FILTERS}
          aside={<ExportLink />}
          load={async (request) => {
            const page = await load(request, setCounts)
            shown.current = page.rows
            return page
          }}
          order="what needs attention first"
          bulk={(rows) => {
            chosen.current = rows
            return (
              <a class="btn danger" href={doHref('revoke')}>
                Revoke…
              </a>
            )
          }}
          empty={EMPTY}
          onLive={setLive}
        />
      )}
      {query.get('do') === 'export' ? (
        <LazyExport rows={shown.current} query={query} onClose={() => navigate(withQuery({ do: undefined }))} />
      ) : null}
      <Acts of={[inviteAct, ...revokeActs(chosen.current), ...withdrawActs(query)]} query={query} />
    </>
  )
}

/** Its script is loaded when it is opened first. */
const LazyExport = lazyDrawer<ExportProps>(async () => (await import('./export.tsx')).ExportDrawer)

function revokeActs(rows: readonly NodeSummary[]): ReturnType<typeof revokeAct>[] {
  return rows.length === 0 ? [] : [revokeAct(rows.map((row) => ({ name: confirmedName(row), cert_id: row.cert_id })))]
}

function countOf(counts: NodePage['counts'], state: NodeState | ''): number | undefined {
  const counted = counts?.[state === '' ? 'all' : state]
  // One more than was counted is shown as a bound.
  return counted === undefined ? undefined : counted.count + (counted.more ? 1 : 0)
}

async function load(
  { query, limit, cursor, signal }: ListRequest,
  onCounts: (counts: NodePage['counts']) => void,
): Promise<ListPage<NodeSummary>> {
  const page = await read<NodePage>(at`/admin/nodes`, { ...nodeQuery(query), limit, cursor }, signal)
  onCounts(page.counts)
  const { total } = page
  return {
    rows: page.nodes,
    nextCursor: page.next_cursor ?? null,
    ...(total === null || total === undefined ? {} : { total }),
  }
}
