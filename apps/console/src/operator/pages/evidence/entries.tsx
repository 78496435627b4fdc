import type { DecisionGroupPage, EvidenceEvent, NewestPage } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { at, read } from '../../client.ts'
import type { Filter } from '../../parts/filters.tsx'
import { shortId } from '../../parts/id.tsx'
import { lazyDrawer } from '../../parts/lazy.tsx'
import { type Column, List, type ListPage, type ListRequest } from '../../parts/list.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { toGroup } from '../../proof/decision-group.ts'
import { navigate, withQuery } from '../../router.ts'
import { kindText, outcomeState, whyText } from '../../words/decisions.ts'
import { resourceHref, vendorHref } from '../history/links.ts'
import type { ViewProps } from './status.ts'

const KINDS = ['decision', 'justification', 'execution', 'rejection', 'usage_violation', 'retention_checkpoint']
const OUTCOMES = ['authorized', 'denied', 'success', 'partial', 'failure']

const FILTERS: readonly Filter[] = [
  { parameter: 'entry_kind', label: 'Kind', choices: KINDS.map((value) => ({ value, text: kindText(value) })) },
  { parameter: 'outcome', label: 'Outcome', choices: OUTCOMES.map((value) => ({ value, text: value })) },
  { parameter: 'capability', label: 'Capability', placeholder: 'pay.invoice' },
  { parameter: 'vendor_id', label: 'Vendor', placeholder: 'captain-4' },
  { parameter: 'resource_id', label: 'Resource', placeholder: 'invoice/2' },
  { parameter: 'attestation_id', label: 'Attestation', placeholder: 'attestation id' },
  { parameter: 'since', label: 'Not before', placeholder: '2026-01-31T08:00:00Z' },
  { parameter: 'until', label: 'Not after', placeholder: '2026-02-01T00:00:00Z' },
]

interface EntryRow extends EvidenceEvent {
  /** The entries of one decision are together; its first row has the name. */
  readonly isSub: boolean
}

const COLUMNS: readonly Column<EntryRow>[] = [
  {
    head: 'Sequence',
    phone: 'd',
    cell: ({ entry }) => (
      <a class="id" href={entryHref(entry.store_sequence)}>
        #{entry.store_sequence}
      </a>
    ),
  },
  { head: 'Kind', phone: 'c', cell: ({ entry }) => kindText(entry.entry_kind) },
  { head: 'What', phone: 'a', cell: (row) => <What row={row} /> },
  {
    head: 'Outcome',
    phone: 'b',
    cell: ({ entry }) =>
      entry.outcome === null ? <span class="quiet">–</span> : <State {...outcomeState(entry.outcome)} />,
  },
  {
    head: 'Vendor',
    low: 'low',
    cell: ({ entry, isSub }) =>
      isSub || entry.vendor_id === null ? null : <a href={vendorHref(entry.vendor_id)}>{entry.vendor_id}</a>,
  },
  {
    head: 'Resource',
    low: 'low2',
    cell: ({ entry }) =>
      entry.resource_id === null ? (
        <span class="quiet">–</span>
      ) : (
        <>
          <a href={resourceHref(entry.resource_id)}>{entry.resource_id}</a>{' '}
          <span class="quiet">{entry.resource_action}</span>
        </>
      ),
  },
  { head: 'Recorded', low: 'low', cell: ({ entry }) => <Time at={entry.recorded_at} /> },
  { head: 'Digest', low: 'low2', cell: (row) => <code class="id">{shortId(row.entry_digest)}</code> },
]

const entryHref = (sequence: number): string => withQuery({ entry: String(sequence) })

function What({ row }: { readonly row: EntryRow }): JSX.Element {
  const { entry, payload } = row
  if (entry.entry_kind === 'decision')
    return (
      <a class="name" href={`/operator/decisions/${encodeURIComponent(entry.decision_id ?? '')}`}>
        {entry.capability}, {entry.vendor_id}
      </a>
    )
  if (entry.entry_kind === 'execution')
    return (
      <>
        {entry.evidence_id}, by {entry.executor_sovereign_id}
      </>
    )
  const why = (payload as { readonly why?: string }).why
  return <span class="quiet">{why ?? kindText(entry.entry_kind)}</span>
}

/** Entries, newest decision first, each decision with its justification and executions. */
export function Entries({ query, onLive }: ViewProps): JSX.Element {
  const open = Number(query.get('entry') ?? '')
  return (
    <>
      <List<EntryRow>
        name="Entries"
        topics={['evidence']}
        columns={COLUMNS}
        rowId={(row) => row.entry_digest}
        rowName={({ entry }) => `entry ${entry.store_sequence}`}
        rowHref={({ entry }) => entryHref(entry.store_sequence)}
        isSub={({ isSub }) => isSub}
        search={{ label: 'Find an entry', placeholder: 'Sequence, decision id or resource' }}
        filters={FILTERS}
        load={load}
        order="newest first"
        empty={{
          icon: 'evidence',
          title: 'No entry is stored yet',
          text: 'The first decision makes the first two entries: the decision and its justification.',
          action: (
            <a class="btn primary" href="/operator/decisions">
              Open decisions
            </a>
          ),
        }}
        onLive={onLive}
      />
      {Number.isSafeInteger(open) && open > 0 ? (
        <LazyEntry key={open} sequence={open} onClose={() => navigate(withQuery({ entry: undefined }))} />
      ) : null}
    </>
  )
}

interface EntryProps {
  readonly sequence: number
  readonly onClose: () => void
}

/** The drawer of an entry has its own script, loaded with the first entry that is opened. */
const LazyEntry = lazyDrawer<EntryProps>(async () => (await import('./entry.tsx')).EntryDrawer)

const PLAIN = ['outcome', 'capability', 'vendor_id', 'attestation_id', 'since', 'until'] as const

/** Groups are found by their decision. A filter on another entry gives the entries one by one. */
async function load({ query, limit, cursor, signal }: ListRequest): Promise<ListPage<EntryRow>> {
  const given = (name: string): string | undefined => query.get(name) ?? undefined
  const q = given('q') ?? ''
  const isSequence = /^#?[0-9]+$/.test(q)
  const isId = /^[0-9a-f]{8}-[0-9a-f-]{27}$/i.test(q)
  const filters = {
    ...Object.fromEntries(PLAIN.map((name) => [name, given(name)])),
    entry_kind: given('entry_kind'),
    resource_id: q === '' || isId || isSequence ? given('resource_id') : q,
    decision_id: isId ? q.toLowerCase() : undefined,
  }
  const start = isSequence && cursor === undefined ? String(Number(q.replace('#', '')) + 1) : cursor
  const isGrouped =
    !isSequence &&
    filters.entry_kind === undefined &&
    filters.resource_id === undefined &&
    !['success', 'partial', 'failure'].includes(given('outcome') ?? '')
  const asked = { ...filters, order: 'newest', before_sequence: start, limit: isGrouped ? Math.ceil(limit / 2) : limit }
  if (!isGrouped) {
    const page = await read<NewestPage>(at`/admin/evidence`, asked, signal)
    return { rows: page.entries.map((each) => ({ ...each, isSub: false })), nextCursor: nextOf(page) }
  }
  const page = await read<DecisionGroupPage>(at`/admin/evidence`, { ...asked, group: 'decision' }, signal)
  return { rows: page.groups.flatMap(toRows), nextCursor: nextOf(page) }
}

const nextOf = ({ next_before_sequence: next }: Pick<NewestPage, 'next_before_sequence'>): string | null =>
  next === null ? null : String(next)

function toRows(group: DecisionGroupPage['groups'][number]): readonly EntryRow[] {
  const row = toGroup(group)
  const why = row === undefined ? '' : whyText(row.decision)
  const rank = ({ entry }: EvidenceEvent): number =>
    entry.entry_kind === 'decision' ? 0 : entry.entry_kind === 'justification' ? 1 : 2
  return group.entries
    .toSorted((a, b) => rank(a) - rank(b) || a.entry.store_sequence - b.entry.store_sequence)
    .map((each) => ({
      ...each,
      payload: each.entry.entry_kind === 'justification' ? { why: `why: ${why}` } : each.payload,
      isSub: each.entry.entry_kind !== 'decision',
    }))
}
