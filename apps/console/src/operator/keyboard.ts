import { readChoice } from './choices.ts'
import { lockEverywhere } from './key.ts'
import { PAGES } from './pages.ts'
import { moveInList } from './parts/neighbours.tsx'
import { rowKeys } from './parts/row-keys.ts'
import { reloadAll } from './parts/use-live.ts'
import { walk } from './parts/walk.ts'
import { navigate } from './router.ts'
import { createStore } from './store.ts'

export const isPaletteOpen = createStore(false)

/** Single keys can be switched off under Help (WCAG 2.1.4). */
export const hasSingleKeys = (): boolean => readChoice('single-keys') !== 'off'

/** The keys of the console, also for Help. */
export const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ['Ctrl K, Cmd K', 'search or run'],
  ['/', 'search of this list'],
  ['j, k, arrows', 'next row, previous row'],
  ['j, k on the page of a row', 'next, previous row of the list that you came from'],
  ['Enter', 'open the row'],
  ['Space', 'open the row as a drawer, where it has one'],
  ['x', 'select the row'],
  ['c', 'copy the id of the row'],
  ['e', 'the main action of the page'],
  ['R', 'read again now'],
  ['?', 'this page'],
  ['Esc', 'close the topmost; else one level up'],
  ['g then l', 'lock now'],
]

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

/** In a list to another row; on a page about one row to that of another row. */
function move(step: -1 | 1): void {
  const rows = rowKeys()
  if (rows === undefined) void moveInList(step)
  else rows.move(step)
}

const SINGLE: Readonly<Record<string, () => void>> = {
  j: () => move(1),
  ArrowDown: () => rowKeys()?.move(1),
  k: () => move(-1),
  ArrowUp: () => rowKeys()?.move(-1),
  x: () => rowKeys()?.tick(),
  c: () => rowKeys()?.copy(),
  e: () => document.querySelector<HTMLElement>('.bar .btn.primary')?.click(),
  R: reloadAll,
  '?': () => navigate('/operator/help'),
  '/': () => document.querySelector<HTMLElement>('[data-search]')?.focus(),
}

/** Starts the keys. Returns a function that ends them. */
export function startKeyboard(): () => void {
  let isGoing = false
  const onKey = (event: KeyboardEvent): void => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault()
      isPaletteOpen.set(true)
      return
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isField(event.target)) return
    // An open dialog has the keys for itself.
    if (document.querySelector('dialog[open]') !== null) return
    if (event.key === 'Escape') goUp()
    if (!hasSingleKeys()) return
    if (isGoing) {
      isGoing = false
      goTo(event.key)
    } else if (event.key === 'g') isGoing = true
    else if (event.key === 'Enter' && event.target === document.body) rowKeys()?.open()
    else if (event.key === ' ' && event.target === document.body && rowKeys()?.peek() === true) event.preventDefault()
    else if (Object.hasOwn(SINGLE, event.key)) {
      const isArrow = event.key.startsWith('Arrow')
      // Without rows the arrows scroll the page.
      if (isArrow && (event.target !== document.body || rowKeys() === undefined)) return
      event.preventDefault()
      SINGLE[event.key]?.()
    }
  }
  document.addEventListener('keydown', onKey)
  return () => document.removeEventListener('keydown', onKey)
}

function goTo(key: string): void {
  if (key === 'l') lockEverywhere('You locked the console.')
  const page = PAGES.find((each) => each.key === key)
  if (page !== undefined) navigate(page.path)
}

function goUp(): void {
  const parts = location.pathname.split('/')
  const above = parts.slice(0, -1).join('/')
  // The list returns with its filters.
  const list = walk.get()?.list
  if (parts.length > 2) navigate(list?.split('?')[0] === above ? list : above)
}
