import type { JSX } from 'preact'
import { newerText } from './merge-rows.ts'

/** Says how many rows wait, and shows them when it is pressed. Announced, because it appears without an input. */
export function Newer(props: {
  readonly count: number
  readonly name: string
  readonly onShow: () => void
}): JSX.Element {
  return (
    <p role="status" class={props.count === 0 ? 'unseen' : 'newer'}>
      {props.count === 0 ? null : (
        <button type="button" class="btn tiny" onClick={props.onShow}>
          ↑ {newerText(props.count, props.name)}
        </button>
      )}
    </p>
  )
}
