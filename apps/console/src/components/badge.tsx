import type { JSX } from 'preact'

/** A word with its tone, like the server's. */
export function Badge({ tone, word }: { readonly tone: string; readonly word: string }): JSX.Element {
  return <span class={`badge badge-${tone}`}>{word}</span>
}
