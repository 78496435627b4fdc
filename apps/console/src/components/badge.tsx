import type { JSX } from 'preact'

/** A label with its tone, like the badges of the server. */
export function Badge({ tone, word }: { readonly tone: string; readonly word: string }): JSX.Element {
  return <span class={`badge badge-${tone}`}>{word}</span>
}
