import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { authorityNow } from '../client.ts'
import { createStore, useStore } from '../store.ts'
import { absolute, relative } from './duration.ts'

export { absolute, duration, relative } from './duration.ts'

/** One clock for all shown times. */
const tick = createStore(0)
let shown = 0
let timer: ReturnType<typeof setInterval> | undefined

function useTick(): void {
  useStore(tick)
  useEffect(() => {
    shown += 1
    timer ??= setInterval(() => tick.set(tick.get() + 1), 10_000)
    return () => {
      shown -= 1
      if (shown > 0) return
      clearInterval(timer)
      timer = undefined
    }
  }, [])
}

/** A time, relative by the clock of the authority; the title has UTC and local time. `both` shows both forms. */
export function Time({ at, both }: { readonly at: string; readonly both?: true }): JSX.Element {
  useTick()
  const ms = Date.parse(at)
  if (Number.isNaN(ms)) return <span>{at}</span>
  const title = `${absolute(ms)} · ${new Date(ms).toLocaleString()} local time`
  return (
    <time dateTime={at} title={title}>
      {both === true ? `${absolute(ms)}, ${relative(ms, authorityNow())}` : relative(ms, authorityNow())}
    </time>
  )
}
