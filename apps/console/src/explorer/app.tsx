import { useEffect, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { explain } from '../authority.ts'
import { signedOutText, idleMinutes, signOutWhenIdle } from '../idle-key.ts'
import { Credential } from './components/credential.tsx'
import { Frame } from './components/frame.tsx'
import { CertificatePage } from './pages/certificate.tsx'
import { ExplorerPage } from './pages/explorer.tsx'
import { FederationPage } from './pages/federation.tsx'
import { MeshPage } from './pages/mesh.tsx'
import { NetworksPage } from './pages/networks.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { RequestPage } from './pages/request.tsx'
import { type ViewLocation, readLocation, writeLocation } from './view-location.ts'
import { type Catalogue, loadCatalogue } from './requests/catalogue.ts'
import { type Draft, SIGNED_OUT, type Session, chooseNetwork, clearKey, signIn, signOut } from './session.ts'

export function App(): JSX.Element {
  const view = useViewLocation()
  const [session, setSession] = useState<Session>(SIGNED_OUT)
  const [draft, setDraft] = useState<Draft>()
  const catalogue = useCatalogue()
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
  const credential = (
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
  )
  return (
    <Frame page={view.page} credential={credential}>
      {view.page === 'overview' ? <OverviewPage operations={catalogue.operations} /> : null}
      {view.page === 'mesh' ? <MeshPage /> : null}
      {view.page === 'explorer' ? (
        <ExplorerPage key={session.number} {...shared} catalogue={catalogue} chosen={view.operation} draft={draft} />
      ) : null}
      {view.page === 'networks' ? <NetworksPage session={session} /> : null}
      {view.page === 'certificate' ? <CertificatePage key={session.number} session={session} /> : null}
      {view.page === 'federation' ? <FederationPage key={session.number} session={session} prepare={prepare} /> : null}
      {view.page === 'request' ? <RequestPage key={session.number} session={session} id={view.operation} /> : null}
    </Frame>
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
