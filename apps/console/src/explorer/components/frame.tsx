import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Icon } from '../../operator/parts/icon.tsx'
import type { IconName } from '../../operator/parts/icons.ts'
import { PAGES, type Page, writeLocation } from '../view-location.ts'

interface Entry {
  readonly name: string
  readonly short?: string
  readonly asks: string
  readonly icon: IconName
  readonly group: '' | 'Work' | 'Proof'
}

const ENTRIES: Readonly<Record<Page, Entry>> = {
  overview: {
    name: 'Overview',
    short: 'State',
    asks: 'Is it ready, and which protections are off?',
    icon: 'home',
    group: '',
  },
  mesh: { name: 'Mesh', asks: 'Which networks recognise each other?', icon: 'partners', group: '' },
  networks: { name: 'Networks', asks: 'Which keys and lists apply to this token?', icon: 'node', group: '' },
  explorer: { name: 'Explorer', asks: 'Which operations are there?', icon: 'search', group: 'Work' },
  certificate: {
    name: 'Certificate',
    short: 'Verify',
    asks: 'Is this join certificate accepted now?',
    icon: 'decision',
    group: 'Work',
  },
  federation: {
    name: 'Federation',
    short: 'Treaty',
    asks: 'Which treaty is to be issued?',
    icon: 'policy',
    group: 'Work',
  },
  request: { name: 'Request', asks: 'What does the audit have about it?', icon: 'audit', group: 'Proof' },
}
const GROUPS = ['', 'Work', 'Proof'] as const

/** The frame of the operator console: side navigation, top bar, and the bar of a phone. */
export function Frame(props: {
  readonly page: Page
  readonly credential: JSX.Element
  readonly children: ComponentChildren
}): JSX.Element {
  const { page } = props
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  const { name, asks } = ENTRIES[page]
  useEffect(() => {
    document.title = `${name} · Trust gateway`
    // Moves the keyboard focus from the menu to the new page. The first page starts at its top.
    if (!isFirst.current) main.current?.focus()
    isFirst.current = false
  }, [page])
  return (
    <>
      <div class="app">
        <aside class="side" aria-label="Gateway">
          <Whose />
          <Navigation page={page} />
        </aside>
        <div class="main">
          <header>
            <div class="phonehead">
              <Whose />
            </div>
            <div class="bar">
              <div class="crumbs">
                <h1>{name}</h1>
              </div>
              <p class="asks">{asks}</p>
            </div>
          </header>
          {props.credential}
          <main class="content stack" id="content" tabIndex={-1} ref={main} data-page={page}>
            {props.children}
          </main>
          <footer class="foot">
            <p>A response is not trust. Check its content and apply your own rules.</p>
          </footer>
        </div>
      </div>
      <nav class="phonebar" aria-label="Pages, phone">
        {PAGES.map((each) => (
          <PageLink key={each} page={each} isCurrent={each === page} isShort />
        ))}
      </nav>
    </>
  )
}

function Navigation({ page }: { readonly page: Page }): JSX.Element {
  return (
    <nav class="nav" aria-label="Pages">
      {GROUPS.map((group) => (
        <div key={group}>
          {group === '' ? null : <h2>{group}</h2>}
          <ul>
            {PAGES.filter((each) => ENTRIES[each].group === group).map((each) => (
              <li key={each}>
                <PageLink page={each} isCurrent={each === page} />
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  )
}

function Whose(): JSX.Element {
  return (
    <a class="whose" href={writeLocation('overview')}>
      <img src="/assets/logo.svg" alt="" width="28" height="28" />
      <span>
        <b>Trust gateway</b>
        <small>{location.host}</small>
      </span>
    </a>
  )
}

function PageLink(props: { readonly page: Page; readonly isCurrent: boolean; readonly isShort?: true }): JSX.Element {
  const { name, short = name, icon } = ENTRIES[props.page]
  return (
    <a href={writeLocation(props.page)} title={name} {...(props.isCurrent ? { 'aria-current': 'page' as const } : {})}>
      <Icon name={icon} />
      <span class="t">{props.isShort === true ? short : name}</span>
    </a>
  )
}
