import type { ExecutorKey, StoreStatus } from '@chancery/sdk'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { at, authorityNow, read } from '../../client.ts'
import type { PageProps } from '../../pages.ts'
import { Bar, type Liveness } from '../../parts/bar.tsx'
import { Tabs } from '../../parts/filters.tsx'
import { lazyDrawer } from '../../parts/problem.tsx'
import { useLive } from '../../parts/use-live.ts'
import { StoreOff, isStoreOff } from '../../proof/store-off.tsx'
import { navigate, withQuery } from '../../router.ts'
import { Acts, doHref } from '../../signing/review.tsx'
import { anchorAct, registerAct, retentionAct, retireAct } from './acts.tsx'
import { Anchors, type ViewProps } from './anchors.tsx'
import { Entries } from './entries.tsx'
import type { EvidenceExportProps } from './export.tsx'
import { Head } from './head.tsx'
import { Rejections } from './rejections.tsx'
import { Id } from '../../parts/id.tsx'
import { type Column, List, type ListPage, type ListRequest } from '../../parts/list.tsx'
import { State } from '../../parts/drawer.tsx'
import { Time } from '../../parts/time.tsx'
import { Facts } from '../../parts/facts.tsx'
import { olderThanDays } from './older-than.ts'

const COLUMNS: readonly Column<ExecutorKey>[] = [
  { head: 'Key', phone: 'a', cell: ({ key_id }) => <b class="name">{key_id}</b> },
  {
    head: 'State',
    phone: 'b',
    cell: ({ retired_at }) => (
      <State
        shape={retired_at === null ? 'circle' : 'cross'}
        tone={retired_at === null ? 'good' : 'ended'}
        word={retired_at === null ? 'Active' : 'Retired'}
      />
    ),
  },
  { head: 'Executor', phone: 'c', cell: ({ executor_sovereign_id }) => executor_sovereign_id },
  { head: 'Public key', low: 'low', cell: ({ public_key }) => <Id id={public_key} what="the public key" /> },
  { head: 'Registered', phone: 'd', cell: ({ registered_at }) => <Time at={registered_at} /> },
  {
    head: 'Retired',
    low: 'low2',
    cell: ({ retired_at, key_id }) =>
      retired_at === null ? (
        <a href={withQuery({ do: 'retire', key: key_id })}>Retire {key_id}…</a>
      ) : (
        <Time at={retired_at} />
      ),
  },
]

/** Keys that may sign executions. Retired keys still verify what they signed. */
function ExecutorKeys({ onLive }: ViewProps): JSX.Element {
  const register = (
    <a class="btn" href={doHref('register')}>
      Register a key…
    </a>
  )
  return (
    <List<ExecutorKey>
      name="Executor keys"
      topics={['evidence']}
      columns={COLUMNS}
      rowId={({ key_id }) => key_id}
      rowName={({ key_id }) => key_id}
      filters={[]}
      aside={register}
      load={load}
      order="as registered"
      empty={{
        icon: 'key',
        title: 'No executor key is registered',
        text: 'An executor signs what it did with a key that you register here.',
        action: register,
      }}
      onLive={onLive}
    />
  )
}

async function load({ signal }: ListRequest): Promise<ListPage<ExecutorKey>> {
  const path = at`/admin/evidence/executor-keys`
  const { executor_keys } = await read<{ readonly executor_keys: readonly ExecutorKey[] }>(path, {}, signal)
  return { rows: executor_keys, nextCursor: null, total: executor_keys.length }
}

/** What retention removed, and the action that removes more. */
function Retention({ status }: ViewProps): JSX.Element {
  const [date, setDate] = useState(new Date(authorityNow() - 365 * 86_400_000).toISOString().slice(0, 10))
  const days = olderThanDays(date, authorityNow())
  const removed = status?.retention_checkpoint ?? null
  return (
    <div class="content">
      <section class="panel">
        <header>
          <h2>Retention</h2>
        </header>
        <div class="body">
          <Facts
            of={[
              ['Removed', removed === null ? 'nothing yet' : `entries up to #${removed}, with a signed checkpoint`],
              ['Stored', status === undefined ? undefined : `${status.entries.toLocaleString('en')} entries`],
            ]}
          />
          <p class="quiet gap">
            Retention verifies the oldest entries, removes those recorded before the date, and stores a signed
            checkpoint. It stops at the first entry that must stay.
          </p>
          <div class="field">
            <label for="retention-date">Remove entries recorded before</label>
            <input
              class="input"
              id="retention-date"
              placeholder="2026-01-31"
              value={date}
              onInput={({ currentTarget }) => setDate(currentTarget.value.trim())}
            />
            <span class="hint">
              {days === undefined
                ? 'A date before today, as year-month-day.'
                : `Entries older than ${days} days. The drawer shows what is signed.`}
            </span>
          </div>
          {days === undefined ? null : (
            <a class="btn" href={withQuery({ do: 'retention', date })}>
              Remove entries…
            </a>
          )}
        </div>
      </section>
    </div>
  )
}

/** Its script is loaded when it is opened first. */
const LazyExport = lazyDrawer<EvidenceExportProps>(async () => (await import('./export.tsx')).ExportDrawer)

const VIEWS = { '': Entries, anchors: Anchors, keys: ExecutorKeys, refused: Rejections, retention: Retention } as const

/** Is every entry still there, and unchanged? The head of the store, and its parts as tabs. */
export function Page({ query }: PageProps): JSX.Element {
  const [live, setLive] = useState<Liveness>({ readAt: undefined, isStale: false })
  const status = useLive('evidence status', (signal) => read<StoreStatus>(at`/admin/evidence/status`, {}, signal), [
    'evidence',
  ])
  const view = query.get('view') ?? ''
  // The retention tab shows only the status.
  const bar = (
    <Bar title="Evidence" asks="Is every entry still there, and unchanged?" live={view === 'retention' ? status : live}>
      <a class="btn" href={doHref('export')}>
        Export entries…
      </a>
      <a class="btn primary" href={doHref('anchor')}>
        Anchor…
      </a>
    </Bar>
  )
  if (isStoreOff(status.problem)) return <StoreOff bar={bar} />
  const View = VIEWS[view in VIEWS ? (view as keyof typeof VIEWS) : '']
  const { value } = status
  const [key, date] = [query.get('key'), query.get('date')]
  const acts = [
    ...(value === undefined ? [] : [anchorAct(value)]),
    registerAct,
    ...(key === null ? [] : [retireAct(key)]),
    ...(date === null ? [] : [retentionAct(date)]),
  ]
  return (
    <>
      {bar}
      <div class="content wide">{value === undefined ? null : <Head status={value} />}</div>
      <Tabs
        parameter="view"
        label="Parts of the evidence store"
        of={[
          { value: '', text: 'Entries', count: value?.entries },
          { value: 'anchors', text: 'Anchors', count: value?.latest_anchor?.anchor_sequence ?? 0 },
          { value: 'keys', text: 'Executor keys', count: value?.active_executor_keys },
          { value: 'refused', text: 'Refused records', count: value?.rejections },
          { value: 'retention', text: 'Retention' },
        ]}
      />
      <View query={query} status={value} onLive={setLive} />
      <Acts of={acts} query={query} />
      {query.get('do') === 'export' && value !== undefined ? (
        <LazyExport status={value} onClose={() => navigate(withQuery({ do: undefined }))} />
      ) : null}
    </>
  )
}
