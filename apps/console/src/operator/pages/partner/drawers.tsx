import type { TreatyRow } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import type { Act } from '../../signing/act.ts'
import { Acts } from '../../signing/review.tsx'
import { type FeedRow, isInForce } from '../partners/rows.ts'
import { type PartnerView, latestEnd } from './load.ts'
import { clearAct, importAct, pullAct, removeAct, repinAct } from './partner-acts.ts'
import { endAct, renewAct, replaceAct } from './treaty-acts.ts'

export interface DrawersProps {
  readonly id: string
  readonly view: PartnerView
  readonly picked: TreatyRow | undefined
  readonly feed: FeedRow | undefined
  readonly query: URLSearchParams
}

/** Everything that can be signed on the page of a partner. */
export function Drawers(props: DrawersProps): JSX.Element | null {
  return <Acts of={actsOf(props)} query={props.query} />
}

function actsOf({ id, view, picked, feed }: DrawersProps): readonly Act[] {
  const { partner } = view
  return [
    ...(picked !== undefined && isInForce(picked)
      ? [renewAct(picked), replaceAct(picked), endAct(picked, latestEnd(view))]
      : []),
    importAct(id, feed, partner),
    ...(partner === undefined ? [] : [pullAct(id), repinAct(id), removeAct(id)]),
    ...(partner?.alarms ?? []).filter((alarm) => alarm.cleared_at === null).map((alarm) => clearAct(id, alarm)),
  ]
}
