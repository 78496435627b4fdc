import type { CapabilityPage, ListedAgent, ListedAgentPage } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { at, read } from '../../client.ts'
import { agentHref, nodeHref, nodeName } from '../../node-key.ts'
import type { PageProps } from '../../pages.ts'
import { Bar, type Liveness } from '../../parts/bar.tsx'
import { Command } from '../../parts/command.tsx'
import { type Filter, countText } from '../../parts/filters.tsx'
import { type Column, List, type ListPage, type ListRequest } from '../../parts/list.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { useLive } from '../../parts/use-live.ts'
import { AgentSignature } from '../../proof/agent-signature.tsx'
import { withQuery } from '../../router.ts'
import { nodeState } from '../nodes/node-state.ts'

/** Capabilities of one row, and those above the list. */
const MOST_TAGS = 3
const MOST_CHIPS = 12

const FILTERS: readonly Filter[] = [
  { parameter: 'capability', label: 'Capability', placeholder: 'payments.read' },
  { parameter: 'host', label: 'Host', placeholder: 'agent.example.org' },
  {
    parameter: 'state',
    label: 'Node',
    choices: ['active', 'ends_soon', 'silent', 'superseded', 'expired'].map((value) => ({
      value,
      text: nodeState(value).word,
    })),
  },
  { parameter: 'expires_before', label: 'Ends before', placeholder: '2026-01-01T00:00:00Z' },
]

const hrefOf = ({ descriptor }: ListedAgent): string => agentHref(descriptor.node_public_key)

const COLUMNS: readonly Column<ListedAgent>[] = [
  {
    head: 'Agent',
    phone: 'a',
    cell: (row) => (
      <a class="name" href={hrefOf(row)}>
        {row.descriptor.agent_id}
      </a>
    ),
  },
  { head: 'Can do', phone: 'c', cell: ({ descriptor }) => <Tags of={descriptor.capabilities} /> },
  {
    head: 'Where',
    low: 'low',
    cell: ({ descriptor: { endpoint } }) => (
      <span class="mono quiet">
        {endpoint.scheme}://{endpoint.host}:{endpoint.port}
      </span>
    ),
  },
  {
    head: 'Node',
    cell: ({ descriptor: { node_public_key }, node_label: label }) => (
      <a href={nodeHref(node_public_key)}>{nodeName({ node_public_key, label })}</a>
    ),
  },
  { head: 'Registered', phone: 'd', low: 'low2', cell: ({ descriptor }) => <Time at={descriptor.registered_at} /> },
  { head: 'Ends', cell: ({ descriptor }) => <Time at={descriptor.expires_at} /> },
  { head: 'Signature', phone: 'b', cell: (row) => <Trust row={row} /> },
]

/** Which agents offer what, and where can they be reached? */
export function Page({ query }: PageProps): JSX.Element {
  const [live, setLive] = useState<Liveness>({ readAt: undefined, isStale: false })
  return (
    <>
      <Bar title="Agents" asks="Which agents offer what, and where can they be reached?" live={live} />
      <CapabilityChips chosen={query.get('capability')} />
      <List<ListedAgent>
        name="Agents"
        topics={['agents', 'nodes']}
        columns={COLUMNS}
        rowId={({ descriptor }) => descriptor.node_public_key}
        rowName={({ descriptor }) => descriptor.agent_id}
        rowHref={hrefOf}
        search={{ label: 'Find an agent', placeholder: 'Agent, capability or host' }}
        filters={FILTERS}
        load={load}
        order={orderOf(query)}
        empty={{
          icon: 'agent',
          title: 'No agent is registered',
          text: 'A node registers its agent with the command below. The agent ends with its node.',
          action: (
            <>
              <Command text="chancery agent register --help" />
              <a class="btn primary" href="/operator/nodes">
                Open nodes
              </a>
            </>
          ),
        }}
        onLive={setLive}
      />
    </>
  )
}

/** The most common capabilities of all agents, with their numbers. A second click removes the filter. */
function CapabilityChips({ chosen }: { readonly chosen: string | null }): JSX.Element | null {
  const { value } = useLive(
    'capabilities',
    (signal) => read<CapabilityPage>(at`/admin/agents/capabilities`, { limit: MOST_CHIPS }, signal),
    ['agents'],
  )
  if (value === undefined || value.capabilities.length === 0) return null
  return (
    <nav class="filters capset" aria-label="Capabilities">
      {value.capabilities.map(({ capability, agents }) => (
        <a
          class={chosen === capability ? 'chip set' : 'chip'}
          key={capability}
          href={withQuery({ capability: chosen === capability ? undefined : capability, q: undefined })}
          data-capability={capability}
          {...(chosen === capability ? { 'aria-current': 'true' as const } : {})}
        >
          {capability} <span class="quiet">{countText(agents)}</span>
        </a>
      ))}
    </nav>
  )
}

function Tags({ of }: { readonly of: readonly string[] }): JSX.Element {
  return (
    <>
      {of.slice(0, MOST_TAGS).map((capability) => (
        <a class="tag" key={capability} href={withQuery({ capability, q: undefined })}>
          {capability}
        </a>
      ))}
      {of.length > MOST_TAGS ? <span class="quiet"> and {of.length - MOST_TAGS} more</span> : null}
    </>
  )
}

/** A node that is not active matters more than a valid signature. */
function Trust({ row }: { readonly row: ListedAgent }): JSX.Element {
  const { node_state: state, descriptor } = row
  if (state === null || state === 'active' || state === 'ends_soon') return <AgentSignature agent={descriptor} />
  const { word, ...shown } = nodeState(state)
  return <State {...shown} word={`Node is ${word.toLowerCase()}`} />
}

function orderOf(query: URLSearchParams): string {
  if (query.has('q')) return 'by name'
  if (query.has('capability')) return 'newest first'
  if (query.has('host')) return 'by node key'
  return query.has('expires_before') ? 'the soonest end first' : 'newest first'
}

async function load({ query, limit, cursor, signal }: ListRequest): Promise<ListPage<ListedAgent>> {
  const asked = Object.fromEntries(
    ['q', ...FILTERS.map(({ parameter }) => parameter)].map((name) => [name, query.get(name) ?? undefined]),
  )
  const page = await read<ListedAgentPage>(at`/admin/agents`, { ...asked, limit, cursor }, signal)
  const { total } = page
  return {
    rows: page.agents,
    nextCursor: page.next_cursor ?? null,
    ...(total === null || total === undefined ? {} : { total }),
  }
}
