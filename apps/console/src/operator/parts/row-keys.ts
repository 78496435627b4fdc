import { useEffect, useState } from 'preact/hooks'

export interface RowActions {
  readonly open: (index: number) => void
  /** True for a row that opens as a drawer over the list. */
  readonly isDrawer: (index: number) => boolean
  readonly tick: ((index: number) => void) | undefined
  readonly copy: (index: number) => void
}

/** Keys of the shown list; keyboard.ts calls them. */
export interface RowKeys {
  move(step: number): void
  open(): void
  /** Opens the row when it is a drawer. Returns whether it did. */
  peek(): boolean
  tick(): void
  copy(): void
}

let current: RowKeys | undefined
export const rowKeys = (): RowKeys | undefined => current

/** Returns the row that the keys j and k selected, or -1. */
export function useRowKeys(count: number, actions: RowActions): number {
  const [at, setAt] = useState(-1)
  useEffect(() => {
    const keys: RowKeys = {
      move: (step) => {
        const next = Math.max(0, Math.min(count - 1, at + step))
        setAt(next)
        document.querySelectorAll('.rows tbody tr')[next]?.scrollIntoView({ block: 'nearest' })
      },
      open: () => at >= 0 && actions.open(at),
      peek: () => {
        if (at < 0 || !actions.isDrawer(at)) return false
        actions.open(at)
        return true
      },
      tick: () => at >= 0 && actions.tick?.(at),
      copy: () => at >= 0 && actions.copy(at),
    }
    current = keys
    return () => {
      if (current === keys) current = undefined
    }
  })
  return Math.min(at, count - 1)
}
