import type { NetworkFindings, StoreStatus } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { at, authorityNow, read } from '../../client.ts'
import { dashboard } from '../../dashboard.ts'
import { findings } from '../../findings.ts'
import type { PageProps } from '../../pages.ts'
import { Bar } from '../../parts/bar.tsx'
import { Icon } from '../../parts/icon.tsx'
import { NotLoaded, useLoaded } from '../../parts/lazy.tsx'
import { Problem } from '../../parts/problem.tsx'
import { Shape } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { SUMMARY_GAP_MS, useLive } from '../../parts/use-live.ts'
import { findVerified, isStillThere } from '../../proof/verified.ts'
import { navigate, withQuery } from '../../router.ts'
import { useStore } from '../../store.ts'
import { isHidden, openSteps } from '../start/steps.ts'
import { ByHour, readHours } from './by-hour.tsx'
import { Changes } from './changes.tsx'
import { HowDrawer } from './how.tsx'
import { mostRows } from './most-rows.ts'
import { type Need, calmOf, findNeeds, headlineOf } from './needs.ts'
import { Vitals } from './vitals.tsx'

/** What needs attention now? The state in one sentence, what to do, figures, and the last changes. */
export function Page(props: PageProps): JSX.Element {
  const live = useStore(findings)
  const found = live?.value
  // A link to the findings is opened in a new network, too.
  const isEmpty =
    found?.first_steps.node_joined === false && !isHidden() && !props.query.has('open') && !props.query.has('all')
  if (isEmpty) return <LazySteps />
  return (
    <>
      <Bar
        title="Overview"
        asks="What needs attention now?"
        live={{ readAt: live?.readAt, isStale: live?.isStale === true }}
      >
        <a class="btn primary" href="/operator/nodes?do=invite">
          <Icon name="plus" />
          Invite a node
        </a>
      </Bar>
      <div class="content stack" aria-busy={found === undefined && live?.problem === undefined}>
        {live?.problem === undefined ? null : <Problem problem={live.problem} />}
        {found === undefined ? <span class="bone" /> : <Summary found={found} query={props.query} />}
      </div>
    </>
  )
}

/** The first steps have their own script. */
function LazySteps(): JSX.Element {
  const { value, hasFailed, again } = useLoaded(() => import('../start/page.tsx'))
  if (hasFailed === true) return <NotLoaded onAgain={again} />
  return value === undefined ? <div class="content" aria-busy="true" /> : <value.Page />
}

function Summary({ found, query }: { readonly found: NetworkFindings; readonly query: URLSearchParams }): JSX.Element {
  const isStoreOff = !hasChecked(found, 'evidence-anchors')
  const isChanged = useChangedEvidence(isStoreOff)
  const nowMs = authorityNow()
  const needs = [...(isChanged ? [CHANGED] : []), ...findNeeds(found.findings, nowMs), ...stepsNeed(found)]
  const opened = query.get('open')
  return (
    <>
      <section class="verdict">
        <h2 class="headline">{headlineOf(needs, found.not_checked ?? [], nowMs)}</h2>
        <p>{calmOf(found)}</p>
      </section>
      <Inbox needs={needs} isWhole={query.has('all')} unlisted={found.count - found.findings.length} />
      <Figures isStoreOff={isStoreOff} />
      {opened === null ? null : (
        <HowDrawer
          check={opened}
          finding={found.findings.find(({ check }) => check === opened)}
          onClose={() => navigate(withQuery({ open: undefined }))}
        />
      )}
    </>
  )
}

/** The check runs only with an evidence store. */
function hasChecked({ passed, findings: wrong }: NetworkFindings, name: string): boolean {
  return passed.includes(name) || wrong.some(({ check }) => check === name)
}

const CHANGED: Need = {
  check: 'evidence-here',
  shape: 'square',
  tone: 'bad',
  title: 'Evidence that this browser verified has changed',
  text: 'The last entry that was verified here has another digest now, or is missing.',
  action: 'Open',
  href: '/operator/evidence',
}

/** Compares the store with what this browser verified last, once for each visit. */
function useChangedEvidence(isStoreOff: boolean): boolean {
  const [isChanged, setChanged] = useState(false)
  useEffect(() => {
    const verified = isStoreOff ? undefined : findVerified()
    if (verified === undefined) return undefined
    const abort = new AbortController()
    isStillThere(verified, abort.signal).then(
      (isThere) => setChanged(!isThere),
      // The page of the evidence reports why it cannot be read.
      () => undefined,
    )
    return () => abort.abort()
  }, [isStoreOff])
  return isChanged
}

/** The first steps that are left, as one row. */
function stepsNeed({ first_steps: steps }: NetworkFindings): readonly Need[] {
  const left = isHidden() ? 0 : openSteps(steps)
  if (left === 0) return []
  return [
    {
      check: 'first-steps',
      shape: 'dashed',
      tone: 'ended',
      title: left === 1 ? '1 of the first steps is open' : `${left} of the first steps are open`,
      text: 'They make a network that you can rely on.',
      action: 'Continue',
      href: '/operator/start',
    },
  ]
}

function Inbox(props: {
  readonly needs: readonly Need[]
  readonly isWhole: boolean
  /** Findings that the authority counts and does not list. */
  readonly unlisted: number
}): JSX.Element | null {
  const { needs } = props
  if (needs.length === 0) return null
  const shown = props.isWhole ? needs : needs.slice(0, mostRows())
  const more = needs.length - shown.length + props.unlisted
  return (
    <section class="panel" aria-labelledby="attention">
      <header>
        <h2 id="attention">Needs attention</h2>
        <span class="quiet">{needs.length + props.unlisted}, the worst first</span>
        <div class="end">
          <a class="btn ghost tiny" href="/operator/help">
            What is checked
          </a>
        </div>
      </header>
      <ul class="inbox">
        {shown.map((need) => (
          <NeedRow key={need.check + need.title} need={need} />
        ))}
      </ul>
      {more <= 0 ? null : (
        <p class="body">
          {shown.length < needs.length ? (
            <a href={withQuery({ all: 'yes' })}>and {more} more</a>
          ) : (
            `and ${more} more. chancery doctor lists all of them.`
          )}
        </p>
      )}
    </section>
  )
}

function NeedRow({ need }: { readonly need: Need }): JSX.Element {
  return (
    <li data-check={need.check} data-tone={need.tone}>
      <Shape shape={need.shape} tone={need.tone} />
      <div>
        <h3>{need.title}</h3>
        <p>{need.text}</p>
      </div>
      <span class="when">{need.at === undefined ? null : <Time at={need.at} />}</span>
      <span class="act">
        <a class="btn" href={need.href} aria-label={`${need.action} ${need.title}`}>
          {need.action}
        </a>
      </span>
    </li>
  )
}

function Figures({ isStoreOff }: { readonly isStoreOff: boolean }): JSX.Element {
  const view = useStore(dashboard)?.value
  // A store that is off answers with 404: it is not asked.
  const hours = useLive(
    `hours ${isStoreOff}`,
    async (signal) => (isStoreOff ? undefined : readHours(signal)),
    ['evidence'],
    { gapMs: SUMMARY_GAP_MS },
  )
  const store = useLive(
    `store ${isStoreOff}`,
    async (signal) => (isStoreOff ? undefined : read<StoreStatus>(at`/admin/evidence/status`, {}, signal)),
    ['evidence'],
    { gapMs: SUMMARY_GAP_MS },
  )
  return (
    <>
      {view === undefined ? null : (
        <Vitals view={view} hours={hours.value} store={store.value} isStoreOff={isStoreOff} />
      )}
      <div class="half">
        <section class="panel">
          <header>
            <h2>Decisions by hour</h2>
            <div class="end legend">
              <span>
                <svg viewBox="0 0 10 10" aria-hidden="true">
                  <rect class="bar-good" width="10" height="10" rx="2" />
                </svg>
                allowed
              </span>
              <span>
                <svg viewBox="0 0 10 10" aria-hidden="true">
                  <rect class="bar-bad" width="10" height="10" rx="2" />
                </svg>
                denied, above
              </span>
            </div>
          </header>
          <div class="body">
            {isStoreOff ? (
              <p class="quiet">The evidence store is off. Set EVIDENCE_STORE=on to store and count decisions.</p>
            ) : hours.value === undefined ? null : hours.value.allowed + hours.value.denied === 0 ? (
              <p class="quiet">No decision in the last 24 hours.</p>
            ) : (
              <ByHour counts={hours.value} />
            )}
          </div>
        </section>
        <Changes />
      </div>
    </>
  )
}
