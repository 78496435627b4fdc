import type { StoreStatus } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import type { Dashboard } from '../../dashboard.ts'
import { relative } from '../../parts/duration.ts'
import { authorityNow } from '../../client.ts'
import type { HourCounts } from './by-hour.tsx'

const text = (count: number): string => count.toLocaleString('en')

/** Four figures, each with the list behind it. */
export function Vitals(props: {
  readonly view: Dashboard
  readonly hours: HourCounts | undefined
  readonly store: StoreStatus | undefined
  readonly isStoreOff: boolean
}): JSX.Element {
  const { nodes, certificates, revocation_list: list, activity } = props.view
  return (
    <section class="vitals" aria-label="Figures">
      <a class="vital" href="/operator/nodes">
        <h3>Active nodes</h3>
        <span class="fig">
          {text(nodes.active)} <small>of {text(nodes.tracked)}</small>
        </span>
        <p>{text(certificates.revoked)} certificates revoked</p>
        {activity === null ? null : <Spark values={activity.active} />}
      </a>
      <Decisions hours={props.hours} isStoreOff={props.isStoreOff} />
      <a class="vital" href="/operator/nodes?state=revoked">
        <h3>Revocation list</h3>
        <span class="fig">
          {list === null ? 'none' : `#${list.sequence}`}{' '}
          <small>{list === null ? '' : `${text(list.entries)} entries`}</small>
        </span>
        <p>
          {list === null
            ? 'The first one is signed within a minute.'
            : `Signed ${list.age_minutes} min ago, ends ${relative(Date.parse(list.next_update), authorityNow())}`}
        </p>
      </a>
      <Evidence store={props.store} isStoreOff={props.isStoreOff} />
    </section>
  )
}

function Decisions(props: { readonly hours: HourCounts | undefined; readonly isStoreOff: boolean }): JSX.Element {
  const { hours } = props
  const [all, denied] = [hours?.allowed ?? 0, hours?.denied ?? 0]
  return (
    <a class="vital" href="/operator/decisions">
      <h3>Decisions, 24 h</h3>
      <span class="fig">
        {props.isStoreOff ? 'off' : hours === undefined ? '–' : text(all + denied)}{' '}
        <small>{hours === undefined ? '' : `${text(denied)} denied`}</small>
      </span>
      <p>
        {props.isStoreOff
          ? 'The evidence store is off.'
          : hours?.isComplete === false
            ? 'Not all are counted yet.'
            : ''}
      </p>
      {hours === undefined ? null : <Spark values={hours.hours.map((hour) => hour.allowed + hour.denied)} />}
    </a>
  )
}

function Evidence(props: { readonly store: StoreStatus | undefined; readonly isStoreOff: boolean }): JSX.Element {
  const { store } = props
  const anchored = store === undefined || store.entries === 0 ? 0 : 1 - store.unanchored_entries / store.entries
  return (
    <a class="vital" href="/operator/evidence">
      <h3>Evidence</h3>
      <span class="fig">
        {props.isStoreOff ? 'off' : store === undefined ? '–' : text(store.entries)}{' '}
        <small>{store === undefined ? '' : 'entries'}</small>
      </span>
      <p>
        {props.isStoreOff
          ? 'Set EVIDENCE_STORE=on to store decisions.'
          : store === undefined
            ? ''
            : store.latest_anchor === null
              ? 'No anchor yet'
              : `Anchored up to #${store.latest_anchor.store_sequence}, ${store.unanchored_entries} after it`}
      </p>
      {store === undefined ? null : (
        <svg class="prog" viewBox="0 0 200 4" preserveAspectRatio="none" aria-hidden="true">
          <rect class="bar-line" width="200" height="4" rx="2" />
          <rect class="bar-accent" width={Math.max(0, Math.min(200, anchored * 200))} height="4" rx="2" />
        </svg>
      )}
    </a>
  )
}

const POINTS = 60

/** A line over time. Gaps are left out: the figure next to it is the value. */
function Spark({ values }: { readonly values: readonly (number | null)[] }): JSX.Element | null {
  const step = Math.max(1, Math.floor(values.length / POINTS))
  const shown = values.filter((_, at) => at % step === 0)
  const most = Math.max(1, ...shown.map((value) => value ?? 0))
  const points = shown.flatMap((value, at) =>
    value === null
      ? []
      : [`${((at / Math.max(1, shown.length - 1)) * 200).toFixed(1)},${(26 - (value / most) * 22).toFixed(1)}`],
  )
  if (points.length < 2) return null
  return (
    <svg class="spark" viewBox="0 0 200 28" preserveAspectRatio="none" aria-hidden="true">
      <polyline class="line" points={points.join(' ')} />
    </svg>
  )
}
