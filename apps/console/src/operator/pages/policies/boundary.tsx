import type { ActiveBoundaryPolicies, BoundaryPolicyRow } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { CallError, at, authorityNow, read } from '../../client.ts'
import type { Liveness } from '../../parts/bar.tsx'
import { type Column, List, type ListPage, type ListRequest } from '../../parts/list.tsx'
import { Shape, State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { setProblemText } from '../../words/policies.ts'
import { NEW_POLICY, listDrafts } from './drafts.ts'
import { draftHref, policyHref } from './links.ts'
import { type PolicySummary, policyState, selectorText, summarise } from './policy-state.ts'

type ActivePolicy = ActiveBoundaryPolicies['active'][number]

interface Row extends PolicySummary {
  /** Present while a version is in force. */
  readonly active: ActivePolicy | undefined
  /** Undefined while decisions are not stored. */
  readonly decided: number | undefined
  readonly hasDraft: boolean
}

interface PoliciesPage extends ListPage<Row> {
  readonly set: ActiveBoundaryPolicies
}

const NONE = (
  <span class="quiet" aria-label="none">
    –
  </span>
)

const COLUMNS: readonly Column<Row>[] = [
  {
    head: 'Policy',
    phone: 'a',
    cell: ({ row }) => (
      <>
        <span class="two">
          <a class="name" href={policyHref(row.policy_id)}>
            {row.policy_id}
          </a>
        </span>
        <span class="two">{row.description}</span>
      </>
    ),
  },
  { head: 'State', phone: 'b', cell: ({ row }) => <State {...policyState(row, authorityNow())} /> },
  { head: 'Version', phone: 'c', cell: ({ row, versions }) => `version ${row.version} of ${versions}` },
  { head: 'Gates', cell: (row) => <Gates {...row} /> },
  {
    head: 'Applies to',
    low: 'low2',
    cell: ({ row, active }) => {
      const selector = active?.policy?.selector
      if (selector !== undefined) return selectorText(selector)
      return row.global === null ? NONE : row.global ? 'every request' : 'selected requests'
    },
  },
  {
    head: 'Ends',
    phone: 'd',
    cell: ({ row }) =>
      row.valid_until === null ? (
        NONE
      ) : (
        <span class={row.active && policyState(row, authorityNow()).tone !== 'good' ? 'warn' : ''}>
          <Time at={row.valid_until} />
        </span>
      ),
  },
  {
    head: 'Decisions in 24 h',
    low: 'low',
    isNumber: true,
    cell: ({ decided }) => (decided === undefined ? NONE : decided.toLocaleString('en')),
  },
  {
    head: 'Draft',
    low: 'low',
    cell: ({ row, hasDraft }) =>
      hasDraft ? (
        <>
          <a href={draftHref(row.policy_id)}>draft</a> <span class="quiet">in this browser</span>
        </>
      ) : (
        NONE
      ),
  },
]

function Gates({ row, active }: Row): JSX.Element {
  const gates = active?.policy?.gates
  if (gates === undefined) return row.gate_count === null ? NONE : <span>{row.gate_count}</span>
  return (
    <>
      {gates.map((gate, index) => (
        <span key={gate.gate_id}>
          {index === 0 ? '' : ' · '}
          <span class="mono">{gate.gate_id}</span>
          {gate.mode === 'observe' ? <span class="quiet"> observe</span> : null}
        </span>
      ))}
    </>
  )
}

/** The list of boundary policies, with the health of the set in force. */
export function BoundaryPolicies(props: { readonly onLive: (live: Liveness) => void }): JSX.Element {
  const [page, setPage] = useState<PoliciesPage>()
  return (
    <>
      <List<Row>
        name="Boundary policies"
        topics={['policies']}
        columns={COLUMNS}
        rowId={({ row }) => row.policy_id}
        rowName={({ row }) => row.policy_id}
        rowHref={({ row }) => policyHref(row.policy_id)}
        search={{ label: 'Find a policy', placeholder: 'Policy, gate or capability' }}
        filters={[{ parameter: 'state', label: 'State', choices: [{ value: 'active', text: 'In force' }] }]}
        load={load}
        order="by name"
        aside={page === undefined ? undefined : <Health set={page.set} />}
        empty={{
          icon: 'policy',
          title: 'No boundary policies yet',
          text: 'A policy limits what callers may do. Write the first one, test it, and activate it.',
          action: (
            <a class="btn primary" href={draftHref(NEW_POLICY)}>
              New policy
            </a>
          ),
        }}
        onLive={(live) => {
          props.onLive(live)
          if (live.value !== undefined) setPage(live.value as PoliciesPage)
        }}
      />
      {page === undefined ? null : <Notices {...page} />}
    </>
  )
}

/** Problems of the set in force, and policies that end within 14 days. */
function Notices({ rows, set }: PoliciesPage): JSX.Element {
  const ending = rows.filter(({ row }) => row.active && policyState(row, authorityNow()).word === 'Ending')
  return (
    <div class="content">
      {set.problems.map(({ policy, reason }) => (
        <div class="banner bad" role="alert" key={`${policy} ${reason}`}>
          <Shape shape="square" />
          <span>
            <b>Every request is denied because of {policy.replace('@', ' ')}.</b> {setProblemText(reason)}{' '}
            <code class="id">{reason}</code>
          </span>
        </div>
      ))}
      {ending.map(({ row, versions }) => (
        <div class="banner watch" key={row.policy_id}>
          <Shape shape="triangle" />
          <span>
            <b>
              {row.policy_id} ends <Time at={row.valid_until ?? ''} />.
            </b>{' '}
            When a policy in force has ended, the whole set denies every request.
          </span>
          <a class="btn tiny" href={draftHref(row.policy_id)}>
            Draft version {versions + 1}…
          </a>
        </div>
      ))}
    </div>
  )
}

function Health({ set }: { readonly set: ActiveBoundaryPolicies }): JSX.Element {
  return (
    <>
      {set.policy_set_healthy ? (
        <State shape="circle" tone="good" word="The set in force is healthy" />
      ) : (
        <State shape="square" tone="bad" word="The set in force denies every request" />
      )}
      <span>· enforcement {set.enforcement}</span>
    </>
  )
}

/** The authority returns all versions up to this number in one page; the list has one row per policy. */
const VERSIONS = 1000

/** The authority gives pages of versions. A page of the list is a part of one: its number of policies, then its cursor. */
function readPlace(cursor: string | undefined): { readonly from: number; readonly versions: string | undefined } {
  const [from = '0', versions = ''] = (cursor ?? '').split('|')
  return { from: Number(from), versions: versions === '' ? undefined : versions }
}

async function load({ query, limit, cursor, signal }: ListRequest): Promise<PoliciesPage> {
  const { from, versions } = readPlace(cursor)
  const [page, set, decided, drafts] = await Promise.all([
    read<{ readonly policies: readonly BoundaryPolicyRow[]; readonly next_cursor?: string | null }>(
      at`/admin/boundary-policies`,
      { limit: VERSIONS, cursor: versions },
      signal,
    ),
    read<ActiveBoundaryPolicies>(at`/admin/boundary-policies/active`, {}, signal),
    readDecided(signal),
    listDrafts(),
  ])
  const rows = summarise(page.policies).map((summary) => ({
    ...summary,
    active: set.active.find(({ policy_id }) => policy_id === summary.row.policy_id),
    decided: decided === undefined ? undefined : (decided.get(summary.row.policy_id) ?? 0),
    hasDraft: drafts.some(({ id }) => id === summary.row.policy_id),
  }))
  const found = rows.filter((row) => matches(row, query))
  const next = page.next_cursor ?? ''
  const nextCursor =
    found.length > from + limit ? `${from + limit}|${versions ?? ''}` : next === '' ? null : `0|${next}`
  return { rows: found.slice(from, from + limit), nextCursor, set }
}

function matches({ row, active }: Row, query: URLSearchParams): boolean {
  if (query.get('state') === 'active' && !row.active) return false
  const text = (query.get('q') ?? '').toLowerCase()
  const { gates = [], selector } = active?.policy ?? {}
  return [
    row.policy_id,
    row.description ?? '',
    ...gates.map(({ gate_id }) => gate_id),
    ...(selector?.capabilities ?? []),
  ].some((each) => each.toLowerCase().includes(text))
}

/** Decisions of the last 24 hours by policy. Undefined while the evidence store is off. */
async function readDecided(signal: AbortSignal): Promise<ReadonlyMap<string, number> | undefined> {
  try {
    const { counts } = await read<{
      readonly counts: readonly { readonly policy: string; readonly decisions: number }[]
    }>(at`/admin/evidence/counts`, { by: 'range', split: 'policy' }, signal)
    return new Map(counts.map(({ policy, decisions }) => [policy, decisions]))
  } catch (error) {
    if (error instanceof CallError) return undefined
    throw error
  }
}
