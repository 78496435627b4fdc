import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'
import { shortId } from './short-id.ts'

export { shortId } from './short-id.ts'

/** Copies a text. The button reports it to screen readers too. */
export function Copy(props: {
  readonly text: string
  readonly what: string
  readonly onCopy?: () => void
}): JSX.Element {
  const [isCopied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(props.text)
    setCopied(true)
    props.onCopy?.()
    setTimeout(() => setCopied(false), 1_500)
  }
  return (
    <button
      type="button"
      class={`copy${isCopied ? ' ok' : ''}`}
      aria-label={isCopied ? `Copied ${props.what}` : `Copy ${props.what}`}
      title={isCopied ? 'Copied' : `Copy ${props.what}`}
      onClick={() => void copy()}
    >
      <Icon name={isCopied ? 'tick' : 'copy'} />
      <span class="unseen" role="status">
        {isCopied ? 'Copied' : ''}
      </span>
    </button>
  )
}

/** An id: shortened in lists, whole with `whole`, always with a copy button. */
export function Id(props: { readonly id: string; readonly what: string; readonly whole?: true }): JSX.Element {
  return (
    <span class={props.whole === true ? 'whole' : 'nowrap'}>
      <code class="id" title={props.id}>
        {props.whole === true ? props.id : shortId(props.id)}
      </code>
      <Copy text={props.id} what={props.what} />
    </span>
  )
}
