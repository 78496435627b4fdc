import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { PageProps } from '../../pages.ts'
import { Bar, type Liveness } from '../../parts/bar.tsx'
import { Tabs } from '../../parts/filters.tsx'
import { Icon } from '../../parts/icon.tsx'
import { BoundaryPolicies } from './boundary.tsx'
import { NEW_POLICY } from './drafts.ts'
import { draftHref } from './links.ts'
import { RECORD_KINDS } from './record-kinds.ts'
import { RecordTab } from './records.tsx'

const TABS = [
  { value: '', text: 'Boundary policies' },
  ...RECORD_KINDS.map(({ tab, title }) => ({ value: tab, text: title })),
]

/** Which rules are in force, and which are ready? */
export function Page({ query }: PageProps): JSX.Element {
  const [live, setLive] = useState<Liveness>({ readAt: undefined, isStale: false })
  const kind = RECORD_KINDS.find(({ tab }) => tab === query.get('tab'))
  return (
    <>
      <Bar title="Policies" asks="Which rules are in force, and which are ready?" live={live}>
        <a class="btn primary" href={draftHref(NEW_POLICY)}>
          <Icon name="plus" />
          New policy
        </a>
      </Bar>
      <Tabs parameter="tab" label="Kinds of policy" of={TABS} />
      {kind === undefined ? (
        <BoundaryPolicies onLive={setLive} />
      ) : (
        <RecordTab key={kind.tab} kind={kind} query={query} onLive={setLive} />
      )}
    </>
  )
}
