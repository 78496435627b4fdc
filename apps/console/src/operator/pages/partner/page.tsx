import type { TreatyRow } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { authorityNow } from '../../client.ts'
import { dashboard } from '../../dashboard.ts'
import type { PageProps } from '../../pages.ts'
import { Bar } from '../../parts/bar.tsx'
import { NotOpened, useLoaded } from '../../parts/lazy.tsx'
import { Blank, Problem } from '../../parts/problem.tsx'
import { shortId } from '../../parts/short-id.ts'
import { State } from '../../parts/state.tsx'
import { absolute } from '../../parts/time.tsx'
import { useLive } from '../../parts/use-live.ts'
import { navigate, withQuery } from '../../router.ts'
import { doHref } from '../../signing/review.tsx'
import { useStore } from '../../store.ts'
import { partnerHref } from '../partners/links.ts'
import { importedFeeds } from '../partners/reads.ts'
import { type FeedRow, currentTreaty, isInForce, namedTreaty, stateOf } from '../partners/rows.ts'
import { Alarms, Contact, FeedPanel } from './contact.tsx'
import { DecisionsPanel } from './decisions.tsx'
import type { DrawersProps } from './drawers.tsx'
import { IfEnded } from './if-ended.tsx'
import { type PartnerView, latestEnd, loadPartner } from './load.ts'
import { OverTime } from './over-time.tsx'
import { OurSide, TheirSide } from './sides.tsx'

/** What is agreed with one network, and what depends on it? */
export function Page({ params, query }: PageProps): JSX.Element {
  const id = params['sovereign_id'] ?? ''
  const live = useLive(`partner ${id}`, (signal) => loadPartner(id, signal), ['partners', 'treaties', 'members'])
  useStore(dashboard)
  const { value: view } = live
  const isUnknown = view !== undefined && view.ours.length === 0 && view.partner === undefined
  return (
    <>
      <Bar title={id} crumbs={[{ href: '/operator/partners', text: 'Partners & treaties' }]} live={live} />
      {live.problem === undefined ? null : <Problem problem={live.problem} />}
      {view === undefined ? (
        <div class="content" aria-busy="true">
          {live.isSlow ? <span class="bone" /> : null}
        </div>
      ) : isUnknown ? (
        <Blank icon="partners" title="No such partner" text={`There is no treaty with ${id}, and it is not read.`}>
          <a class="btn" href="/operator/partners">
            Partners
          </a>
        </Blank>
      ) : (
        <Shown id={id} view={view} query={query} />
      )}
    </>
  )
}

interface ShownProps {
  readonly id: string
  readonly view: PartnerView
  readonly query: URLSearchParams
}

function Shown({ id, view, query }: ShownProps): JSX.Element {
  const { ours, partner, theirs } = view
  const feed = importedFeeds().find((row) => row.issuer_sovereign_id === id)
  const asked = query.get('treaty')
  const named = namedTreaty(ours, asked)
  const isListed = asked === null || named !== undefined
  // A treaty that is not listed leaves the page of the partner, without the actions of a treaty.
  const picked = named ?? currentTreaty(ours)
  return (
    <div class="content">
      {isListed ? null : (
        <p class="banner watch" role="alert" data-not-listed>
          The treaty {shortId(asked)} of this address is not one that this network signed for {id}, or it is not listed
          here. It cannot be changed from this page. <a href={partnerHref(id)}>Open the partner without it</a>
        </p>
      )}
      <Hero {...{ id, view, picked, feed, isListed }} />
      <div class="split">
        <div class="stack">
          {partner === undefined ? null : <Alarms partner={partner} />}
          <OverTime ours={ours} theirs={theirs} nowMs={authorityNow()} />
          <div class="half">
            <OurSide picked={picked} view={view} />
            <TheirSide id={id} view={view} />
          </div>
          <FeedPanel id={id} feed={feed} partner={partner} />
          <DecisionsPanel id={id} decisions={view.decisions} />
        </div>
        <div class="stack">
          {picked !== undefined && isInForce(picked) ? <IfEnded id={id} treaty={picked} /> : null}
          <Contact id={id} partner={partner} picked={picked} />
        </div>
      </div>
      <LazyDrawers {...{ id, view, picked: named, feed, query }} />
    </div>
  )
}

/** The drawers are a separate script, loaded when the first one opens. */
function LazyDrawers(props: DrawersProps): JSX.Element | null {
  const isAsked = props.query.has('do')
  const { value, hasFailed, again } = useLoaded(() => import('./drawers.tsx'), isAsked)
  if (hasFailed === true && isAsked)
    return <NotOpened onAgain={again} onClose={() => navigate(withQuery({ do: undefined }))} />
  return value === undefined ? null : <value.Drawers {...props} />
}

function Hero(props: {
  readonly id: string
  readonly view: PartnerView
  readonly picked: TreatyRow | undefined
  readonly feed: FeedRow | undefined
  readonly isListed: boolean
}): JSX.Element {
  const { id, view, picked, feed, isListed } = props
  const canChange = picked !== undefined && isInForce(picked)
  return (
    <div class="hero">
      <div>
        <h2>
          {id} <State {...stateOf(picked, feed, view.partner, authorityNow())} isPill />
        </h2>
        <p>{sentenceOf(view, picked)}</p>
      </div>
      <div class="end">
        {!isListed ? null : canChange ? (
          <>
            <a class="btn danger" href={doHref('end')}>
              End…
            </a>
            <a class="btn" href={doHref('replace')}>
              Replace…
            </a>
            <a class="btn primary" href={doHref('renew')}>
              Renew…
            </a>
          </>
        ) : (
          <a class="btn primary" href="/operator/partners?do=recognise">
            Recognise…
          </a>
        )}
      </div>
    </div>
  )
}

function sentenceOf(view: PartnerView, picked: TreatyRow | undefined): string {
  const ours =
    picked === undefined || !isInForce(picked)
      ? 'We do not accept its members.'
      : `We accept its members with ${picked.treaty.scope.allowed_roles.join(', ') || 'no role'} until ${absolute(Date.parse(picked.treaty.expires_at))}.`
  const end = latestEnd(view)
  const theirs =
    view.partner?.treaties === undefined || view.partner.treaties === null
      ? 'Whether it accepts ours is not read.'
      : end === undefined
        ? 'It does not accept ours.'
        : `It accepts ours until ${absolute(Date.parse(end))}.`
  return `${ours} ${theirs}`
}
