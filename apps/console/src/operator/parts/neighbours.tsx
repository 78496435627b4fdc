import type { JSX } from 'preact'
import { CallError } from '../client.ts'
import { address } from '../router.ts'
import { useStore } from '../store.ts'
import { Icon } from './icon.tsx'
import { showToast } from './toasts.ts'
import { neighboursOf } from './walk-steps.ts'
import { takeStep, walk } from './walk.ts'

/** Moves in the list from which the reader came. */
export async function moveInList(step: -1 | 1): Promise<void> {
  try {
    await takeStep(step)
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    showToast({ text: `The next rows of the list cannot be read: ${error.message}` })
  }
}

/** The arrows of a page about one row. Without a list behind it there are none. */
export function Arrows({ what }: { readonly what: string }): JSX.Element | null {
  const found = neighboursOf(useStore(walk), useStore(address).path)
  if (found === undefined) return null
  return (
    <span class="wide-only" role="group" aria-label={`Other ${what}s of the list`}>
      <button
        type="button"
        class="btn icon ghost"
        aria-label={`Previous ${what} (k)`}
        aria-disabled={!found.hasPrevious}
        onClick={() => void moveInList(-1)}
      >
        <Icon name="left" />
      </button>
      <button
        type="button"
        class="btn icon ghost"
        aria-label={`Next ${what} (j)`}
        aria-disabled={!found.hasNext}
        onClick={() => void moveInList(1)}
      >
        <Icon name="right" />
      </button>
    </span>
  )
}

/** The address of the list with the filters of the reader, or the plain one. */
export function useListHref(plain: string): string {
  const list = useStore(walk)?.list
  return list !== undefined && list.split('?')[0] === plain ? list : plain
}
