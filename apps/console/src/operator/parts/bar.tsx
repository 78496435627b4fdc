import type { ComponentChildren, JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { isFollowing } from '../changes.ts'
import { clockOffsetMs } from '../client.ts'
import { networkFact } from '../frame.tsx'
import { useStore } from '../store.ts'
import { duration } from './time.tsx'

export interface Crumb {
  readonly href: string
  readonly text: string
}

/** The top bar of a page: where you are, its question, how fresh the data is, and at most two actions. */
export function Bar(props: {
  readonly title: string
  readonly asks?: string
  /** Pages above this one. */
  readonly crumbs?: readonly Crumb[]
  readonly live?: Liveness
  readonly children?: ComponentChildren
}): JSX.Element {
  const network = networkFact('network')
  useEffect(() => {
    document.title = `${props.title} · ${network}`
  }, [props.title])
  const offset = clockOffsetMs()
  return (
    <div class="bar">
      <div class="crumbs">
        {props.crumbs?.map(({ href, text }) => (
          <>
            <a href={href}>{text}</a>
            <span class="sep" aria-hidden="true">
              /
            </span>
          </>
        ))}
        <h1>{props.title}</h1>
      </div>
      {props.asks === undefined ? null : <p class="asks">{props.asks}</p>}
      <div class="end">
        {Math.abs(offset) > 5_000 ? (
          <span class="live stale" title="Times are shown by the clock of the authority.">
            This clock is off by {duration(offset)}
          </span>
        ) : null}
        {props.live === undefined ? null : <Live {...props.live} />}
        {props.children}
      </div>
    </div>
  )
}

export interface Liveness {
  /** When the shown data was read; undefined before the first answer. */
  readonly readAt: number | undefined
  readonly isStale: boolean
}

function Live({ readAt, isStale }: Liveness): JSX.Element {
  const when = useStore(isFollowing) ? 'after each change' : 'every 15 seconds'
  const time = readAt === undefined ? '' : new Date(readAt).toISOString().slice(11, 19)
  return (
    <span class={`live${isStale ? ' stale' : ''}`} title={`Read again ${when}; R reads now`}>
      {readAt === undefined ? 'Loading' : `${isStale ? 'As of' : 'Live ·'} ${time} UTC`}
    </span>
  )
}
