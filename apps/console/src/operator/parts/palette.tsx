import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { isPaletteOpen } from '../keyboard.ts'
import { clearOnLock, lockEverywhere } from '../key.ts'
import { PAGES } from '../pages.ts'
import { navigate } from '../router.ts'
import { createStore, useStore } from '../store.ts'
import { Icon, Seal } from './icon.tsx'
import { findActions } from './palette-actions.ts'
import type { PaletteGroup, PaletteMatch, PaletteRow } from './palette-row.ts'
import { findLists, searchNetwork } from './palette-search.ts'

const recent = createStore<readonly PaletteRow[]>([])
clearOnLock(() => recent.set([]))
/** Recent places, in memory only. */
export function noteVisit(row: PaletteRow): void {
  recent.set([row, ...recent.get().filter((each) => each.href !== row.href)].slice(0, 8))
}

const MOST = 8
/** One character fits too much to be worth a request. */
const LEAST_TEXT = 2
const SEARCH_DELAY_MS = 120

export function findRows(text: string, read: readonly PaletteMatch[] = []): readonly PaletteGroup[] {
  const words = text.trim().toLowerCase()
  if (words === '') return [{ name: 'Open', rows: recent.get() }]
  const pages = PAGES.filter((page) => !page.path.includes('{') && page.title.toLowerCase().includes(words)).map(
    (page) => ({
      group: 'Open' as const,
      row: { text: page.title, note: page.asks, icon: page.nav?.icon ?? ('right' as const), href: page.path },
    }),
  )
  const lock = 'lock now'.includes(words)
    ? [
        {
          group: 'Do' as const,
          row: { text: 'Lock now', icon: 'lock' as const, run: () => lockEverywhere('You locked the console.') },
        },
      ]
    : []
  const all = [...lock, ...pages, ...findActions(words), ...read, ...findLists(text.trim())]
  return (['Do', 'Open', 'Find'] as const)
    .map((name) => ({
      name,
      rows: all
        .filter(({ group }) => group === name)
        .slice(0, MOST)
        .map(({ row }) => row),
    }))
    .filter(({ rows }) => rows.length > 0)
}

/** Rows of the authority for the text, a moment after the last key. Without an answer the local rows stay. */
function useNetworkRows(text: string): readonly PaletteMatch[] {
  const [rows, setRows] = useState<readonly PaletteMatch[]>([])
  useEffect(() => {
    setRows([])
    if (text.length < LEAST_TEXT) return undefined
    const abort = new AbortController()
    const timer = setTimeout(
      () => void searchNetwork(text, abort.signal).then(setRows, () => undefined),
      SEARCH_DELAY_MS,
    )
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [text])
  return rows
}

const keyOf = (row: PaletteRow): string => `${row.href ?? ''} ${row.text}`

/** The chosen row. It is found by its key, because rows of the authority come later and must not move the choice. */
function useChoice(rows: readonly PaletteRow[]): {
  readonly at: number
  readonly move: (step: number) => void
  readonly reset: () => void
} {
  const [chosen, setChosen] = useState<string>()
  const found = rows.findIndex((row) => keyOf(row) === chosen)
  const at = Math.max(0, found)
  return {
    at,
    move: (step) => {
      const next = rows[Math.max(0, Math.min(rows.length - 1, at + step))]
      setChosen(next === undefined ? undefined : keyOf(next))
    },
    reset: () => setChosen(undefined),
  }
}

export function Palette(): JSX.Element | null {
  return useStore(isPaletteOpen) ? <OpenPalette /> : null
}

function OpenPalette(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const read = useNetworkRows(text.trim())
  useEffect(() => {
    dialog.current?.showModal()
    return () => dialog.current?.close()
  }, [])
  const close = (): void => isPaletteOpen.set(false)
  const groups = findRows(text, read)
  const rows = groups.flatMap((group) => group.rows)
  const { at, move, reset } = useChoice(rows)
  const choose = (row: PaletteRow | undefined): void => {
    close()
    if (row?.href !== undefined) navigate(row.href)
    row?.run?.()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      move(step)
    } else if (event.key === 'Enter') choose(rows[at])
  }
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Search or run"
      onCancel={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <div class="ask">
        <Icon name="search" />
        <input
          aria-label="Search or run"
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-rows"
          {...(rows[at] === undefined ? {} : { 'aria-activedescendant': `palette-${at}` })}
          placeholder="A page, an action, a name or an id"
          value={text}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value)
            reset()
          }}
          onKeyDown={onKeyDown}
        />
        <kbd>Esc</kbd>
      </div>
      <PaletteRows groups={groups} rows={rows} at={at} choose={choose} isEmpty={text === ''} />
      <PaletteFoot />
    </dialog>
  )
}

function PaletteFoot(): JSX.Element {
  return (
    <footer>
      <span>
        <kbd>↑</kbd> <kbd>↓</kbd> choose
      </span>
      <span>
        <kbd>Enter</kbd> open
      </span>
      <span class="end">
        <Seal /> opens a review; nothing is signed from here
      </span>
    </footer>
  )
}

function PaletteRows(props: {
  readonly groups: readonly PaletteGroup[]
  readonly rows: readonly PaletteRow[]
  readonly at: number
  readonly choose: (row: PaletteRow) => void
  readonly isEmpty: boolean
}): JSX.Element {
  return (
    <div role="listbox" id="palette-rows" aria-label="Results">
      {props.groups.map((group) => (
        <div role="group" aria-label={group.name} key={group.name}>
          {group.rows.length === 0 ? null : <h3 aria-hidden="true">{props.isEmpty ? 'Recent' : group.name}</h3>}
          {group.rows.map((row) => {
            const index = props.rows.indexOf(row)
            return (
              <div
                key={keyOf(row)}
                id={`palette-${index}`}
                role="option"
                aria-selected={index === props.at}
                class={`row${index === props.at ? ' on' : ''}`}
                onClick={() => props.choose(row)}
              >
                {row.icon === 'seal' ? <Seal /> : <Icon name={row.icon} />}
                <span>{row.text}</span>
                <small>{row.note}</small>
              </div>
            )
          })}
        </div>
      ))}
      {props.rows.length === 0 ? (
        <p class="quiet none">{props.isEmpty ? 'Type a name, an id or an action.' : 'Nothing matches.'}</p>
      ) : null}
    </div>
  )
}
