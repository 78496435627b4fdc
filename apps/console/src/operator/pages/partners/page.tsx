import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { dashboard } from '../../dashboard.ts'
import type { PageProps } from '../../pages.ts'
import { Bar, type Liveness } from '../../parts/bar.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Acts, doHref } from '../../signing/review.tsx'
import { useStore } from '../../store.ts'
import { addAct, recogniseAct } from './acts.ts'
import { MemberList } from './member-list.tsx'
import { attestAct } from './member-acts.ts'
import { PartnerList } from './partner-list.tsx'
import { TreatyList } from './treaty-list.tsx'
import { WithdrawnList } from './withdrawn-list.tsx'

/** Whose members are accepted? One row per other network; tabs for treaties, own members and imported revocations. */
export function Page({ query }: PageProps): JSX.Element {
  const [live, setLive] = useState<Liveness>({ readAt: undefined, isStale: false })
  const [count, setCount] = useState<number>()
  const view = useStore(dashboard)?.value
  const tab = query.get('tab') ?? ''
  const tabs = {
    parameter: 'tab',
    label: 'Partners and treaties',
    of: [
      { value: '', text: 'Partners', count },
      { value: 'treaties', text: 'Treaties', count: view?.treaty_summary.total },
      { value: 'members', text: 'Our members abroad' },
      { value: 'withdrawn', text: 'Withdrawn by others', count: view?.connectome_summary.imported_revocation_count },
    ],
  }
  const props = { tabs, onLive: setLive }
  return (
    <>
      <Bar title="Partners & treaties" asks="Whose members do we accept, and until when?" live={live}>
        <BarActions tab={tab} />
      </Bar>
      {tab === 'treaties' ? (
        <TreatyList {...props} />
      ) : tab === 'members' ? (
        <MemberList {...props} />
      ) : tab === 'withdrawn' ? (
        <WithdrawnList {...props} />
      ) : (
        <PartnerList {...props} onCount={setCount} />
      )}
      <Acts of={[recogniseAct, addAct, attestAct]} query={query} />
    </>
  )
}

function BarActions({ tab }: { readonly tab: string }): JSX.Element {
  if (tab === 'members')
    return (
      <a class="btn primary" href={doHref('attest')}>
        <Icon name="plus" />
        Attest a member
      </a>
    )
  return (
    <>
      <a class="btn" href={doHref('add')}>
        Add a partner
      </a>
      <a class="btn primary" href={doHref('recognise')}>
        <Icon name="plus" />
        Recognise a partner
      </a>
    </>
  )
}
