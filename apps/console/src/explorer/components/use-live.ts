import { useEffect, useState } from 'preact/hooks'
import { explain } from '../../authority.ts'

const EVERY_MS = 30_000
const RETRY_MS = 3000

export interface LiveValue<Value> {
  /** The last value that could be read. */
  readonly value: Value | undefined
  /** Why the latest attempt failed. */
  readonly problem: string | undefined
  /** When the latest attempt ended. */
  readonly atMs: number
}

/**
 * Refreshes a value while the page is visible; a hidden page makes no requests. A value that the gateway calls
 * old is requested again after three seconds.
 */
export function useAutoRefresh<Value>(
  load: () => Promise<Value>,
  isOld: (value: Value) => boolean = () => false,
): LiveValue<Value> {
  const [live, setLive] = useState<LiveValue<Value>>({ value: undefined, problem: undefined, atMs: Date.now() })
  useEffect(() => {
    let isOpen = true
    let timer: ReturnType<typeof setTimeout> | undefined
    const refresh = async (): Promise<void> => {
      clearTimeout(timer)
      let waitMs = EVERY_MS
      try {
        const value = await load()
        if (isOld(value)) waitMs = RETRY_MS
        if (isOpen) setLive({ value, problem: undefined, atMs: Date.now() })
      } catch (error) {
        if (isOpen) setLive((current) => ({ value: current.value, problem: explain(error), atMs: Date.now() }))
      }
      if (isOpen && !document.hidden) timer = setTimeout(() => void refresh(), waitMs)
    }
    const onVisibility = (): void => {
      clearTimeout(timer)
      if (!document.hidden) void refresh()
    }
    document.addEventListener('visibilitychange', onVisibility)
    void refresh()
    return () => {
      isOpen = false
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onVisibility)
    }
  }, [])
  return live
}
