import { useEffect, useRef, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { explain } from '../authority.ts'
import { signedOutText, idleMinutes, signOutWhenIdle } from '../idle-key.ts'
import { Credential } from './components/credential.tsx'
import { ExplorerPage } from './pages/explorer.tsx'
import { FederationPage } from './pages/federation.tsx'
import { MeshPage } from './pages/mesh.tsx'
import { NetworksPage } from './pages/networks.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { PAGES, readLocation, writeLocation } from './view-location.ts'
import type { Page, ViewLocation } from './view-location.ts'
import { loadCatalogue } from './requests/catalogue.ts'
import type { Catalogue } from './requests/catalogue.ts'
import { SIGNED_OUT, chooseNetwork, signIn, clearKey, signOut } from './session.ts'
import type { Draft, Session } from './session.ts'

const NAMES: Readonly<Record<Page, string>> = {
  overview: 'Overview',
  mesh: 'Mesh',
  explorer: 'Explorer',
  networks: 'Networks',
  federation: 'Federation',
}

// oxlint-disable-next-line max-lines-per-function -- the state of the page and its markup
export function App(): JSX.Element {
  const view = useViewLocation()
  const [session, setSession] = useState<Session>(SIGNED_OUT)
  const [draft, setDraft] = useState<Draft>()
  const catalogue = useCatalogue()
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  useEffect(() => {
    document.title = `${NAMES[view.page]} · Trust gateway`
    // Moves the keyboard focus from the menu to the new page. The first page starts at its top.
    if (!isFirst.current) main.current?.focus()
    isFirst.current = false
  }, [view.page])
  useEffect(() => {
    if (session.signer === undefined) return undefined
    const minutes = idleMinutes(document.querySelector('#explorer'))
    return signOutWhenIdle(minutes, () => setSession((current) => clearKey(current, signedOutText(minutes))))
  }, [session.signer])
  const prepare = (network: string, prepared: Draft): void => {
    setSession((current) => chooseNetwork(current, network))
    setDraft(prepared)
    location.hash = writeLocation('explorer', prepared.operation)
  }
  const shared = { session, setSession }
  return (
    <>
      <header class="top">
        <a class="brand" href={writeLocation('overview')}>
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
                <a href={writeLocation(page)} {...(page === view.page ? { 'aria-current': 'page' } : {})}>
                  {NAMES[page]}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      </header>
      <Credential
        session={session}
        signIn={(token, tokenInfo) => {
          setDraft(undefined)
          setSession(signIn(session, token, tokenInfo))
        }}
        signOut={() => {
          setDraft(undefined)
          setSession(signOut(session))
        }}
        choose={(name) => setSession(chooseNetwork(session, name))}
      />
      <main id="content" tabIndex={-1} ref={main} data-page={view.page}>
        {view.page === 'overview' ? <OverviewPage operations={catalogue.operations} /> : null}
        {view.page === 'mesh' ? <MeshPage /> : null}
        {view.page === 'explorer' ? (
          <ExplorerPage key={session.number} {...shared} catalogue={catalogue} chosen={view.operation} draft={draft} />
        ) : null}
        {view.page === 'networks' ? <NetworksPage session={session} /> : null}
        {view.page === 'federation' ? (
          <FederationPage key={session.number} session={session} prepare={prepare} />
        ) : null}
      </main>
      <footer class="bottom">
        <p>A response is not trust. Check its content and apply your own rules.</p>
      </footer>
    </>
  )
}

function useViewLocation(): ViewLocation {
  const first: ViewLocation = { page: 'overview', operation: undefined }
  const [view, setView] = useState(() => readLocation(location.hash) ?? first)
  useEffect(() => {
    // Other fragments, such as that of the skip link, do not change the page.
    const follow = (): void =>
      setView((current) => (location.hash === '' ? first : (readLocation(location.hash) ?? current)))
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return view
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
