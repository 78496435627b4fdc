/** Keeps the parts of a page marked `data-live` as new as the authority, without a reader having to reload. */

const EVERY_MS = 15_000
const MAX_BACK_OFF_MS = 120_000

export interface LiveParts {
  /** The page as the authority renders it now. */
  load(): Promise<string>
  /** Tells the reader how it goes. */
  say(text: string): void
}

/**
 * Asks the authority for the same page and puts the parts in place: one model and one renderer, no second one in the
 * browser that could disagree. Pauses while nobody looks, and steps back when the authority does not answer.
 */
export function keepLive(document: Document, parts: LiveParts = ownPage(document)): () => void {
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
      parts.say(' · live')
    } catch {
      wait = Math.min(wait * 2, MAX_BACK_OFF_MS)
      parts.say(' · the authority does not answer, trying again')
    } finally {
      isRunning = false
      plan()
    }
  }
  const onVisibility = (): void => {
    if (document.hidden) {
      clearTimeout(timer)
      parts.say(' · paused')
    } else void refresh()
  }
  document.addEventListener('visibilitychange', onVisibility)
  plan()
  return () => {
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', onVisibility)
  }
}

function ownPage(document: Document): LiveParts {
  const place = document.querySelector('#live')
  return {
    async load() {
      const answer = await fetch(document.location.href, { headers: { Accept: 'text/html' } })
      if (!answer.ok) throw new Error(`status ${answer.status}`)
      return answer.text()
    },
    say(text) {
      if (place !== null) place.textContent = text
    },
  }
}

/** Parsed, not executed: scripts of a parsed document do not run, and the authority escaped every value. */
export function replaceParts(document: Document, text: string): void {
  const fresh = new DOMParser().parseFromString(text, 'text/html')
  for (const part of document.querySelectorAll('[data-live]')) {
    const name = part.getAttribute('data-live') ?? ''
    const next = fresh.querySelector(`[data-live="${CSS.escape(name)}"]`)
    // What a reader has under the cursor or the keyboard stays where it is until it changes.
    if (next === null || next.innerHTML === part.innerHTML || part.contains(document.activeElement)) continue
    part.replaceChildren(...Array.from(next.childNodes, (node) => document.importNode(node, true)))
  }
  const time = fresh.querySelector('footer time')?.textContent
  const shown = document.querySelector('footer time')
  if (time !== undefined && time !== null && shown !== null) shown.textContent = time
}
