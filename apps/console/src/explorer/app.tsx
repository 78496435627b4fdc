import { useEffect, useRef, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { explain } from '../authority.ts'
import { forgottenText, idleMinutes, watchIdle } from '../idle-key.ts'
import { Credential } from './components/credential.tsx'
import { ExplorerPage } from './pages/explorer.tsx'
import { FederationPage } from './pages/federation.tsx'
import { MeshPage } from './pages/mesh.tsx'
import { NetworksPage } from './pages/networks.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { PAGES, readPlace, writePlace } from './place.ts'
import type { Page, Place } from './place.ts'
import { loadCatalogue } from './requests/catalogue.ts'
import type { Catalogue } from './requests/catalogue.ts'
import { NOBODY, chooseNetwork, enter, forgetKey, leave } from './session.ts'
import type { Draft, Session } from './session.ts'

const NAMES: Readonly<Record<Page, string>> = {
  overview: 'Overview',
  mesh: 'Mesh',
  explorer: 'Explorer',
  networks: 'Networks',
  federation: 'Federation',
}

export function App(): JSX.Element {
  const place = usePlace()
  const [session, setSession] = useState<Session>(NOBODY)
  const [draft, setDraft] = useState<Draft>()
  const catalogue = useCatalogue()
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  useEffect(() => {
    document.title = `${NAMES[place.page]} · Trust gateway`
    // Whoever came by keyboard goes on reading the new page, not the menu; the first page is read from its top.
    if (!isFirst.current) main.current?.focus()
    isFirst.current = false
  }, [place.page])
  useEffect(() => {
    if (session.signer === undefined) return undefined
    const minutes = idleMinutes(document.querySelector('#explorer'))
    return watchIdle(minutes, () => setSession((held) => forgetKey(held, forgottenText(minutes))))
  }, [session.signer])
  const prepare = (network: string, prepared: Draft): void => {
    setSession((held) => chooseNetwork(held, network))
    setDraft(prepared)
    location.hash = writePlace('explorer', prepared.operation)
  }
  const shared = { session, setSession }
  return (
    <>
      <header class="top">
        <a class="brand" href={writePlace('overview')}>
          <img src="/assets/logo.svg" alt="" width="28" height="28" />
          <span>Chancery</span>
        </a>
        <p class="network">
          <span class="network-name">Trust gateway</span>
        </p>
        <nav class="menu" aria-label="Pages">
          <ul>
            {PAGES.map((page) => (
              <li key={page}>
                <a href={writePlace(page)} {...(page === place.page ? { 'aria-current': 'page' } : {})}>
                  {NAMES[page]}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      </header>
      <Credential
        session={session}
        enter={(token, standing) => {
          setDraft(undefined)
          setSession(enter(session, token, standing))
        }}
        leave={() => {
          setDraft(undefined)
          setSession(leave(session))
        }}
        choose={(name) => setSession(chooseNetwork(session, name))}
      />
      <main id="content" tabIndex={-1} ref={main} data-page={place.page}>
        {place.page === 'overview' ? <OverviewPage operations={catalogue.operations} /> : null}
        {place.page === 'mesh' ? <MeshPage /> : null}
        {place.page === 'explorer' ? (
          <ExplorerPage key={session.number} {...shared} catalogue={catalogue} chosen={place.operation} draft={draft} />
        ) : null}
        {place.page === 'networks' ? <NetworksPage session={session} /> : null}
        {place.page === 'federation' ? (
          <FederationPage key={session.number} session={session} prepare={prepare} />
        ) : null}
      </main>
      <footer class="bottom">
        <p>An answer is not trust: look at what it says, and bind it to your own session and rules.</p>
      </footer>
    </>
  )
}

function usePlace(): Place {
  const first: Place = { page: 'overview', operation: undefined }
  const [place, setPlace] = useState(() => readPlace(location.hash) ?? first)
  useEffect(() => {
    // Other fragments, such as that of the skip link, lead to no other page.
    const follow = (): void => setPlace((held) => (location.hash === '' ? first : (readPlace(location.hash) ?? held)))
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return place
}

function useCatalogue(): Catalogue {
  const [catalogue, setCatalogue] = useState<Catalogue>({ operations: [], problem: undefined })
  useEffect(() => {
    loadCatalogue().then(
      (operations) => setCatalogue({ operations, problem: undefined }),
      (error: unknown) => setCatalogue({ operations: [], problem: explain(error) }),
    )
  }, [])
  return catalogue
}
