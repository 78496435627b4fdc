/** Refreshes the parts of a page marked `data-live`. */

const EVERY_MS = 15_000
const MAX_BACK_OFF_MS = 120_000

export interface RefreshParts {
  /** Loads the page as the authority renders it now. */
  load(): Promise<Document>
  /** Shows the state of the refresh. */
  showState(text: string): void
}

/**
 * Loads the page again from the authority and replaces its parts, so that only the authority renders it. Pauses while
 * the page is hidden, and waits longer when the authority does not respond.
 */
export function autoRefresh(document: Document, parts: RefreshParts = ownPage(document)): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let wait = EVERY_MS
  let isRunning = false
  const plan = (): void => {
    clearTimeout(timer)
    if (!document.hidden) timer = setTimeout(() => void refresh(), wait)
  }
  const refresh = async (): Promise<void> => {
    if (isRunning) return
    isRunning = true
    try {
      replaceParts(document, await parts.load())
      wait = EVERY_MS
      parts.showState(' · live')
    } catch {
      wait = Math.min(wait * 2, MAX_BACK_OFF_MS)
      parts.showState(' · the authority does not respond, trying again')
    } finally {
      isRunning = false
      plan()
    }
  }
  const onVisibility = (): void => {
    if (document.hidden) {
      clearTimeout(timer)
      parts.showState(' · paused')
    } else void refresh()
  }
  document.addEventListener('visibilitychange', onVisibility)
  plan()
  return () => {
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', onVisibility)
  }
}

function ownPage(document: Document): RefreshParts {
  const element = document.querySelector('#live')
  return {
    load: () => loadPage(document.location.href),
    showState(text) {
      if (element !== null) element.textContent = text
    },
  }
}

/**
 * Lets the browser parse the response, because the page allows no script to convert text to markup. Scripts of the
 * parsed document do not run, and the authority has escaped every value.
 */
function loadPage(address: string): Promise<Document> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('GET', address)
    request.responseType = 'document'
    request.setRequestHeader('Accept', 'text/html')
    request.addEventListener('error', () => reject(new Error('no response')))
    request.addEventListener('load', () => {
      const page = request.responseXML
      if (request.status === 200 && page !== null) resolve(page)
      else reject(new Error(`status ${request.status}`))
    })
    request.send()
  })
}

const foldName = (folded: Element): string | null => folded.getAttribute('data-fold')

export function replaceParts(document: Document, fresh: Document): void {
  for (const part of document.querySelectorAll('[data-live]')) {
    const name = part.getAttribute('data-live') ?? ''
    const next = fresh.querySelector(`[data-live="${CSS.escape(name)}"]`)
    // An element with the pointer or the focus is replaced only when it changed.
    if (next === null || next.isEqualNode(part) || part.contains(document.activeElement)) continue
    const open = new Set(Array.from(part.querySelectorAll('details[open]'), foldName))
    part.replaceChildren(...Array.from(next.childNodes, (node) => document.importNode(node, true)))
    // What the reader opened stays open.
    for (const folded of part.querySelectorAll('details')) if (open.has(foldName(folded))) folded.open = true
  }
  const time = fresh.querySelector('footer time')?.textContent
  const shown = document.querySelector('footer time')
  if (time !== undefined && time !== null && shown !== null) shown.textContent = time
}
