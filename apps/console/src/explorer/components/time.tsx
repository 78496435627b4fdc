import type { JSX } from 'preact'

/** Shows a time of a response in UTC, as in signed records. */
export function Time({ at }: { readonly at: string }): JSX.Element {
  const ms = Date.parse(at)
  const text = Number.isNaN(ms) ? at : `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`
  return (
    <time class="when" dateTime={at}>
      {text}
    </time>
  )
}
