import type { NetworkFinding } from '@chancery/sdk/authority'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type Dashboard, dashboard, useDashboard } from './dashboard.ts'
import { findings, isForLater, useFindings } from './findings.ts'
import { isPaletteOpen } from './keyboard.ts'
import { type Session, idleMsLeft, lockEverywhere, session } from './key.ts'
import { PAGES, type PageEntry } from './pages.ts'
import { Icon, Seal } from './parts/icon.tsx'
import { showToast } from './parts/toast.tsx'
import { useStore } from './store.ts'

const STATIC = '/operator-console-static'

/** Facts of the network that the authority wrote into the page, percent-encoded: a page shows no invisible characters. */
export function networkFact(name: 'network' | 'version' | 'authority-key'): string {
  return decodeURIComponent(document.querySelector('#operator')?.getAttribute(`data-${name}`) ?? '')
}

export function Whose(props: { readonly fingerprint: string }): JSX.Element {
  return (
    <a class="whose" href="/operator">
      <img src={`${STATIC}/logo.svg`} alt="" width="28" height="28" />
      <span>
        <b>{networkFact('network')}</b>
        <small title="Fingerprint of the authority key">
          v{networkFact('version').replace(/^v/, '')} · <span class="mono">{groups(props.fingerprint)}</span>
        </small>
      </span>
    </a>
  )
}

const groups = (hex: string): string => hex.slice(0, 12).replaceAll(/(.{4})(?=.)/g, '$1 ')

/** The frame around every page: side navigation, head and bar of a phone, and the content. */
export function Frame(props: {
  readonly current: PageEntry | undefined
  readonly fingerprint: string
  readonly children: ComponentChildren
}): JSX.Element {
  const live = useDashboard()
  useEffect(() => dashboard.set(live), [live.value, live.readAt, live.problem])
  const found = useFindings()
  useEffect(() => findings.set(found), [found.value, found.readAt, found.problem])
  const open = useStore(session)
  return (
    <>
      <div class="app">
        <aside class="side">
          <Whose fingerprint={props.fingerprint} />
          <button type="button" class="find" onClick={() => isPaletteOpen.set(true)}>
            <Icon name="search" />
            <span class="t">Search or run</span>
            <kbd>Ctrl K</kbd>
          </button>
          <Navigation current={props.current} />
          {open === undefined ? null : <KeyChip session={open} />}
        </aside>
        <main class="main" id="content" tabIndex={-1}>
          <div class="phonehead">
            <Whose fingerprint={props.fingerprint} />
            <div class="end">
              <button
                type="button"
                class="btn icon ghost"
                aria-label="Search or run"
                onClick={() => isPaletteOpen.set(true)}
              >
                <Icon name="search" />
              </button>
              <button
                type="button"
                class="btn icon ghost"
                aria-label={`Lock now. Your key: ${open?.keyId ?? ''}`}
                onClick={() => lockEverywhere('You locked the console.')}
              >
                <Seal />
              </button>
            </div>
          </div>
          {props.children}
        </main>
      </div>
      <PhoneBar current={props.current} />
    </>
  )
}

const GROUPS = ['', 'Network', 'Rules', 'Proof'] as const
const inGroup = (group: string): readonly PageEntry[] =>
  PAGES.filter(({ nav }) => nav?.group === group && nav.isLast !== true)

function Navigation({ current }: { readonly current: PageEntry | undefined }): JSX.Element {
  return (
    <>
      <nav class="nav" aria-label="Console">
        {GROUPS.map((group) => {
          const entries = inGroup(group)
          return entries.length === 0 ? null : (
            <div key={group}>
              {group === '' ? null : <h2>{group}</h2>}
              <Entries entries={entries} current={current} />
            </div>
          )
        })}
      </nav>
      <div class="side-end">
        <nav class="nav" aria-label="Console, more">
          <Entries entries={PAGES.filter(({ nav }) => nav?.isLast === true)} current={current} />
        </nav>
      </div>
    </>
  )
}

function Entries(props: {
  readonly entries: readonly PageEntry[]
  readonly current: PageEntry | undefined
}): JSX.Element {
  const view = useStore(dashboard)?.value
  const attention = attentionCount(useStore(findings)?.value?.findings ?? [])
  const counts: Readonly<Record<string, { readonly count: number; readonly tone: string } | undefined>> =
    view === undefined
      ? { '/operator': attention }
      : {
          '/operator': attention,
          '/operator/nodes': { count: view.nodes.tracked, tone: '' },
          '/operator/partners': partnersCount(view),
        }
  return (
    <ul>
      {props.entries.map((entry) => {
        const number = counts[entry.path]
        return (
          <li key={entry.path}>
            <a href={entry.path} title={entry.title} {...isCurrent(entry, props.current)}>
              <Icon name={entry.nav?.icon ?? 'right'} />
              <span class="t">{entry.title}</span>
              {number === undefined ? null : (
                <span class={`n ${number.tone}`}>{number.count.toLocaleString('en')}</span>
              )}
            </a>
          </li>
        )
      })}
    </ul>
  )
}

/** What needs attention and cannot wait, in the tone of the worst. */
function attentionCount(
  found: readonly NetworkFinding[],
): { readonly count: number; readonly tone: string } | undefined {
  const { length: count } = found.filter((each) => !isForLater(each))
  return count === 0 ? undefined : { count, tone: found.some(({ status }) => status === 'bad') ? 'urgent' : 'watch' }
}

/** What to watch, or else the treaties in force. */
function partnersCount(view: Dashboard): { readonly count: number; readonly tone: string } {
  const { treaty_summary: treaties, revocation_feed_summary: feeds } = view
  const warnings = treaties.warning_count + feeds.stale_count
  return warnings > 0 ? { count: warnings, tone: 'watch' } : { count: treaties.active, tone: '' }
}

/** A page below an entry, such as one node, marks the entry. */
function isCurrent(entry: PageEntry, current: PageEntry | undefined): { readonly 'aria-current'?: 'page' } {
  const path = current?.path ?? ''
  const isBelow = entry.path !== '/operator' && path.startsWith(`${entry.path}/`)
  return path === entry.path || isBelow ? { 'aria-current': 'page' } : {}
}

/** Whose key is open, its tier, and the time left. */
function KeyChip({ session: open }: { readonly session: Session }): JSX.Element {
  const [left, setLeft] = useState(idleMsLeft())
  useEffect(() => {
    let hasWarned = false
    const timer = setInterval(() => {
      const now = idleMsLeft()
      setLeft(now)
      if (now < 60_000 && !hasWarned)
        showToast({ text: 'The key is removed in a minute.', undo: { text: 'Stay', run: () => undefined }, ms: 60_000 })
      hasWarned = now < 60_000
    }, 1_000)
    return () => clearInterval(timer)
  }, [])
  const minutes = Math.max(0, Math.ceil(left / 60_000))
  return (
    <div class="keychip">
      <Seal />
      <div>
        <b>{open.keyId}</b>
        <small>
          {open.who === undefined ? '' : `${open.who.tier} · `}
          {left < 60_000 ? `${Math.max(0, Math.ceil(left / 1000))} s left` : `${minutes} min left`}
        </small>
      </div>
      <button
        type="button"
        class="btn icon ghost tiny"
        aria-label="Lock now"
        title="Lock now (g l)"
        onClick={() => lockEverywhere('You locked the console.')}
      >
        <Icon name="lock" />
      </button>
    </div>
  )
}

/** Four pages, and the rest under More. */
function PhoneBar({ current }: { readonly current: PageEntry | undefined }): JSX.Element {
  const first = ['/operator', '/operator/nodes', '/operator/decisions', '/operator/partners']
  const entries = PAGES.filter(({ path }) => first.includes(path))
  return (
    <nav class="phonebar" aria-label="Console, phone">
      {entries.map((entry) => (
        <a key={entry.path} href={entry.path} {...isCurrent(entry, current)}>
          <Icon name={entry.nav?.icon ?? 'right'} />
          {entry.title.split(' ')[0]}
        </a>
      ))}
      <a href="/operator/help" {...(current?.path === '/operator/help' ? { 'aria-current': 'page' as const } : {})}>
        <Icon name="list" />
        More
      </a>
    </nav>
  )
}
