import type { StoreStatus } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { at, read } from '../../client.ts'
import type { PageProps } from '../../pages.ts'
import { Bar, type Liveness } from '../../parts/bar.tsx'
import { Tabs } from '../../parts/filters.tsx'
import { lazyDrawer } from '../../parts/lazy.tsx'
import { useLive } from '../../parts/use-live.ts'
import { StoreOff, isStoreOff } from '../../proof/store-off.tsx'
import { navigate, withQuery } from '../../router.ts'
import { Acts, doHref } from '../../signing/review.tsx'
import { anchorAct, registerAct, retentionAct, retireAct } from './acts.tsx'
import { Anchors } from './anchors.tsx'
import { Entries } from './entries.tsx'
import { ExecutorKeys } from './executor-keys.tsx'
import type { EvidenceExportProps } from './export.tsx'
import { Head } from './head.tsx'
import { Rejections } from './rejections.tsx'
import { Retention } from './retention.tsx'

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
