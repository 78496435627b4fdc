import type { JSX } from 'preact'
import { Copy } from './id.tsx'

/** A command to run elsewhere, with a copy button. */
export function Command({ text }: { readonly text: string }): JSX.Element {
  return (
    <div class="cmd">
      <code>{text}</code>
      <Copy text={text} what="the command" />
    </div>
  )
}
