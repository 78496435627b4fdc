import type { DecisionCounts, DecisionGroupPage } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { at, authorityNow, read } from '../../client.ts'
import type { PageProps } from '../../pages.ts'
import { Bar, type Liveness } from '../../parts/bar.tsx'
import { Command } from '../../parts/command.tsx'
import type { Filter, Tab } from '../../parts/filters.tsx'
import { Icon } from '../../parts/icon.tsx'
import { type Column, List, type ListPage, type ListRequest } from '../../parts/list.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { useLive } from '../../parts/use-live.ts'
import { type DecisionRow, toGroup } from '../../proof/decision-group.ts'
import { outcomeState, parametersText, whyText } from '../../words/decisions.ts'
import { StoreOff, isStoreOff } from '../../proof/store-off.tsx'
import { Acts, doHref } from '../../signing/review.tsx'
import { decideAct } from './decide.ts'

const HOUR_MS = 3_600_000
const TIMES = [
  { value: '1', text: 'last hour' },
  { value: '24', text: 'last 24 hours' },
  { value: '168', text: 'last 7 days' },
  { value: '720', text: 'last 30 days' },
] as const

const FILTERS: readonly Filter[] = [
  { parameter: 'hours', label: 'Time', choices: TIMES },
  { parameter: 'capability', label: 'Capability', placeholder: 'pay.invoice' },
  { parameter: 'vendor_id', label: 'Asked by', placeholder: 'captain-4' },
  { parameter: 'failed_gate', label: 'Failed gate', placeholder: 'spending/amount' },
  { parameter: 'requester_sovereign_id', label: 'Requester', placeholder: 'NORTHWIND' },
  { parameter: 'attestation_id', label: 'Attestation', placeholder: 'attestation id' },
]

const COLUMNS: readonly Column<DecisionRow>[] = [
  { head: 'Outcome', phone: 'b', cell: ({ entry }) => <State {...outcomeState(entry.outcome)} /> },
  {
    head: 'Asked by',
    phone: 'a',
    cell: (row) => (
      <a class="name" href={hrefOf(row)}>
        {row.entry.vendor_id ?? 'unnamed'}
      </a>
    ),
  },
  {
    head: 'For what',
    phone: 'c',
    cell: ({ context }) => (
      <>
        <span class="mono">{context.requested_capability}</span>{' '}
        <span class="quiet">{parametersText(context.request_parameters, 2)}</span>
      </>
    ),
  },
  {
    head: 'Why',
    cell: ({ decision }) => <span class={decision.authorized ? '' : 'no'}>{whyText(decision)}</span>,
  },
  { head: 'Basis', low: 'low', cell: ({ context }) => <span class="quiet">{context.parent_kind}</span> },
  { head: 'Policy', low: 'low2', cell: ({ decision }) => policiesOf(decision.policy_binding?.policies ?? []) },
  {
    head: 'Executed',
    low: 'low2',
    cell: ({ decision, executions }) =>
      decision.authorized ? (
        executions === 0 ? (
          'none yet'
        ) : executions === 1 ? (
          'once'
        ) : (
          `${executions} times`
        )
      ) : (
        <span class="quiet">–</span>
      ),
  },
  { head: 'Decided', phone: 'd', cell: ({ decision }) => <Time at={decision.decision_made_at} /> },
  { head: 'Evidence', isNumber: true, cell: ({ entry }) => <span class="id">#{entry.store_sequence}</span> },
]

/** What was asked, what was decided, and why? One row per decision, newest first. */
export function Page({ query }: PageProps): JSX.Element {
  const [live, setLive] = useState<Liveness & { readonly problem?: unknown }>({ readAt: undefined, isStale: false })
  const isFiltered = ['q', ...FILTERS.map(({ parameter }) => parameter)].some((name) => query.has(name))
  const counts = useLive(
    'decision counts',
    (signal) =>
      read<DecisionCounts>(
        at`/admin/evidence/counts`,
        { by: 'range', split: 'outcome', since: new Date(authorityNow() - 399 * 24 * HOUR_MS).toISOString() },
        signal,
      ),
    ['evidence'],
  )
  const bar = (
    <Bar title="Decisions" asks="What was asked, what was decided, and why?" live={live}>
      <a class="btn" href={doHref('decide')}>
        <Icon name="decision" />
        Decide a request…
      </a>
    </Bar>
  )
  const acts = <Acts of={[decideAct]} query={query} />
  if (isStoreOff(counts.problem)) return <StoreOff bar={bar}>{acts}</StoreOff>
  return (
    <>
      {bar}
      <List<DecisionRow>
        name="Decisions"
        topics={['evidence']}
        columns={COLUMNS}
        rowId={({ decision }) => decision.decision_id}
        rowName={({ entry, context }) => `${context.requested_capability}, ${entry.vendor_id ?? ''}`}
        rowHref={hrefOf}
        tabs={{ parameter: 'outcome', label: 'Outcome', of: toTabs(isFiltered ? undefined : counts.value) }}
        search={{ label: 'Find a decision', placeholder: 'Decision id, or who asked' }}
        filters={FILTERS}
        load={load}
        order="newest first"
        empty={{
          icon: 'decision',
          title: 'No decision is stored yet',
          text: 'The authority stores every decision that it makes for an operator or a node.',
          action: (
            <>
              <Command text="chancery ask --as operator --help" />
              <a class="btn primary" href="/operator/policies">
                Open policies
              </a>
            </>
          ),
        }}
        onLive={setLive}
      />
      {acts}
    </>
  )
}

/** Counts cover 400 days and have no filters, so a filtered list has none. */
function toTabs(counts: DecisionCounts | undefined): readonly Tab[] {
  const count = (outcome: string): number | undefined =>
    counts?.counts.filter((each) => each.outcome === outcome).reduce((sum, each) => sum + each.decisions, 0)
  const [denied, allowed] = [count('denied'), count('authorized')]
  const all = denied === undefined || allowed === undefined ? undefined : denied + allowed
  return [
    { value: '', text: 'All', count: all },
    { value: 'denied', text: 'Denied', count: denied, tone: 'watch' },
    { value: 'authorized', text: 'Allowed', count: allowed },
  ]
}

async function load({ query, limit, cursor, signal }: ListRequest): Promise<ListPage<DecisionRow>> {
  const hours = Number(query.get('hours') ?? '')
  const given = (name: string): string | undefined => query.get(name) ?? undefined
  const page = await read<DecisionGroupPage>(
    at`/admin/evidence`,
    {
      order: 'newest',
      group: 'decision',
      outcome: given('outcome'),
      capability: given('capability'),
      vendor_id: given('vendor_id'),
      failed_gate: given('failed_gate'),
      requester_sovereign_id: given('requester_sovereign_id'),
      attestation_id: given('attestation_id'),
      since: hours > 0 ? new Date(authorityNow() - hours * HOUR_MS).toISOString() : undefined,
      ...searched(query.get('q') ?? ''),
      limit,
      before_sequence: cursor,
    },
    signal,
  )
  return {
    rows: page.groups.flatMap((group) => toGroup(group) ?? []),
    nextCursor: page.next_before_sequence === null ? null : String(page.next_before_sequence),
  }
}

/** The form of the text decides which field is searched. */
function searched(text: string): Readonly<Record<string, string>> {
  if (text === '') return {}
  return /^[0-9a-f]{8}-[0-9a-f-]{27}$/i.test(text) ? { decision_id: text.toLowerCase() } : { vendor_id: text }
}

function policiesOf(policies: readonly { readonly policy_id: string; readonly version: number }[]): JSX.Element {
  if (policies.length === 0) return <span class="quiet">–</span>
  return (
    <>
      {policies.map(({ policy_id, version }) => (
        <span key={policy_id}>
          {policy_id} <span class="quiet">{version}</span>{' '}
        </span>
      ))}
    </>
  )
}

const hrefOf = ({ decision }: DecisionRow): string => `/operator/decisions/${encodeURIComponent(decision.decision_id)}`
