import '../visible-text.ts'
import { type FunctionComponent, type JSX, render } from 'preact'
import { useEffect, useErrorBoundary } from 'preact/hooks'
import { Frame, networkFact } from './frame.tsx'
import { isPaletteOpen, startKeyboard } from './keyboard.ts'
import { clearOnLock, session } from './key.ts'
import { PAGES, type PageProps } from './pages.ts'
import { Bar } from './parts/bar.tsx'
import { NotLoaded, useLoaded } from './parts/lazy.tsx'
import { Palette, noteVisit } from './parts/palette.tsx'
import { Blank } from './parts/problem.tsx'
import { Toasts } from './parts/toast.tsx'
import { keyFingerprint } from './pin.ts'
import { type RouteMatch, address, findPage, followLinks } from './router.ts'
import { useStore } from './store.ts'
import { Unlock } from './unlock.tsx'
import '../styles/shared.css'
import '../styles/console.css'
import '../styles/phone.css'

/** The operator console: locked, or the frame with the page of the address. */
function App(): JSX.Element {
  const { path } = useStore(address)
  const open = useStore(session)
  const match = findPage(PAGES, path)
  if (open?.isAccepted !== true) return <Unlock title={match?.entry.title ?? 'Overview'} />
  return (
    <>
      <Frame current={match?.entry} fingerprint={keyFingerprint(open.audience)}>
        {match === undefined ? <NotFound path={path} /> : <LoadedPage key={match.entry.path} match={match} />}
      </Frame>
      <Palette />
      <Toasts />
    </>
  )
}

interface PageScript {
  readonly Page: FunctionComponent<PageProps>
}

/** The build makes one script of each of them. */
const SCRIPTS = import.meta.glob<PageScript>('./pages/*/page.tsx')
const loaded = new Map<string, FunctionComponent<PageProps>>()

async function loadPage(folder: string): Promise<PageScript> {
  const load = SCRIPTS[`./pages/${folder}/page.tsx`]
  if (load === undefined) throw new Error(`There is no page ${folder}.`)
  return load()
}

/** Loads the script of the page once, and shows the page. */
function LoadedPage({ match }: { readonly match: RouteMatch }): JSX.Element {
  const { entry, params } = match
  const { path, query } = useStore(address)
  const { hasFailed, again } = useLoaded(async () => {
    const { Page } = await loadPage(entry.folder)
    loaded.set(entry.path, Page)
    return Page
  }, !loaded.has(entry.path))
  useEffect(() => {
    if (!entry.path.includes('{'))
      noteVisit({ text: entry.title, icon: entry.nav?.icon ?? 'right', href: location.pathname + location.search })
  }, [])
  const Page = loaded.get(entry.path)
  // The key is the path and not its pattern: a problem with one record must not hide the next one.
  if (Page !== undefined) return <ShownPage key={path} Page={Page} params={params} query={query} />
  return (
    <>
      <Bar title={entry.title} asks={entry.asks} />
      {hasFailed === true ? <NotLoaded onAgain={again} /> : <div class="content" aria-busy="true" />}
    </>
  )
}

/** A record that the page cannot show must not leave it empty. */
function ShownPage({ Page, ...props }: PageProps & { readonly Page: FunctionComponent<PageProps> }): JSX.Element {
  const [problem] = useErrorBoundary()
  if (problem === undefined) return <Page {...props} />
  return (
    <>
      <Bar title="Not shown" />
      <Blank
        icon="help"
        title="This page cannot be shown"
        text="A record has a form that this console does not know. The command line shows it."
      />
    </>
  )
}

function NotFound({ path }: { readonly path: string }): JSX.Element {
  return (
    <>
      <Bar title="Not found" />
      <Blank icon="search" title="There is no such page" text={`The console has no page at ${path}.`}>
        <p>
          <a href="/operator">Overview</a> · <a href="/operator/nodes">Nodes</a> · <a href="/operator/help">Help</a>
        </p>
      </Blank>
    </>
  )
}

function main(): void {
  const root = document.querySelector('#operator')
  if (root === null) return
  followLinks(document)
  startKeyboard()
  clearOnLock(() => isPaletteOpen.set(false))
  document.title = networkFact('network')
  root.replaceChildren()
  render(<App />, root)
  document.body.dataset['enriched'] = 'done'
}

main()
