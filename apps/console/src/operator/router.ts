import { type Store, createStore } from './store.ts'
import type { PageEntry } from './pages.ts'

/** The address that is shown. Moving between pages replaces content, never the document: the key stays. */
export interface Address {
  readonly path: string
  readonly query: URLSearchParams
  /** State of this entry of the history: cursors of a list. */
  readonly state: Readonly<Record<string, unknown>>
}

const readAddress = (): Address => ({
  path: location.pathname,
  query: new URLSearchParams(location.search),
  state: (history.state ?? {}) as Record<string, unknown>,
})

export const address: Store<Address> = createStore(readAddress())

/** Opens an address of the console. `replace` writes no entry into the history. */
export function navigate(href: string, { replace = false, state = {} } = {}): void {
  if (replace) history.replaceState(state, '', href)
  else history.pushState(state, '', href)
  address.set(readAddress())
  if (!replace) scrollTo(0, 0)
}

/** Returns the present address with other query values; undefined removes one. */
export function withQuery(changes: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') query.delete(name)
    else query.set(name, value)
  }
  const text = query.toString()
  return location.pathname + (text === '' ? '' : `?${text}`)
}

/** Follows links inside the console without loading a document. Returns a function that ends it. */
export function followLinks(root: Document): () => void {
  const onClick = (event: MouseEvent): void => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.ctrlKey ||
      event.metaKey ||
      event.shiftKey ||
      event.altKey
    )
      return
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (link === null || link.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return
    if (!/^\/operator(?:\/|$)/.test(link.pathname) || link.getAttribute('href')?.startsWith('#') === true) return
    event.preventDefault()
    navigate(link.pathname + link.search)
  }
  const onMove = (): void => address.set(readAddress())
  root.addEventListener('click', onClick)
  addEventListener('popstate', onMove)
  return () => {
    root.removeEventListener('click', onClick)
    removeEventListener('popstate', onMove)
  }
}

export interface RouteMatch {
  readonly entry: PageEntry
  readonly params: Readonly<Record<string, string>>
}

/** Returns the page of a path. Segments in braces are parameters, percent-decoded. */
export function findPage(pages: readonly PageEntry[], path: string): RouteMatch | undefined {
  const sent = path.replace(/\/+$/, '').split('/')
  for (const entry of pages) {
    const params = matchSegments(entry.path.split('/'), sent)
    if (params !== undefined) return { entry, params }
  }
  return undefined
}

function matchSegments(pattern: readonly string[], sent: readonly string[]): Record<string, string> | undefined {
  if (pattern.length !== sent.length) return undefined
  const params: Record<string, string> = {}
  for (const [at, part] of pattern.entries()) {
    const given = sent[at] ?? ''
    if (!part.startsWith('{')) {
      if (part !== given) return undefined
      continue
    }
    try {
      params[part.slice(1, -1)] = decodeURIComponent(given)
    } catch {
      return undefined
    }
  }
  return params
}
