import type { JsonObject } from '@chancery/protocol'
import type { ComponentChildren } from 'preact'
import type { Target } from '../client.ts'
import type { ShapeName, Tone } from '../parts/icons.ts'
import type { Toast } from '../parts/toasts.ts'

export type Values = Readonly<Record<string, string>>

/** Only what the page does not have already. */
export interface ActField {
  readonly name: string
  readonly label: string
  /** `few` shows its choices next to each other; `file` takes pasted text or a file. */
  readonly kind: 'text' | 'number' | 'choice' | 'few' | 'long' | 'file'
  readonly hint?: string
  readonly placeholder?: string
  readonly initial?: string
  readonly isOptional?: true
  readonly isMono?: true
  readonly choices?: readonly { readonly value: string; readonly text: string }[]
  /** False hides the field. Its value then stays as it is. */
  readonly isShown?: (values: Values) => boolean
}

/** One request of an action. Two requests are sent one after the other. */
export interface ActRequest {
  readonly method?: 'POST' | 'DELETE'
  readonly target: Target
  readonly body: JsonObject
  /** The route takes an Idempotency-Key (`repeatable` in the contract). */
  readonly isRepeatable?: true
  /** Shown when this request fails after an earlier one succeeded. */
  readonly name?: string
}

export interface Effect {
  readonly shape: ShapeName
  readonly tone: Tone
  readonly text: string
  readonly more?: string
}

export interface ActDone {
  readonly toast: Toast
  /** Replaces the drawer; without it the drawer closes. */
  readonly view?: (close: () => void) => ComponentChildren
}

/** One action that ends with a signature. The drawer shows it; nothing else signs. */
export interface Act {
  /** In the address: ?do=NAME. */
  readonly name: string
  readonly title: string
  /** What it means from the next request on. */
  readonly sentence: string
  /** «Sign and invite». Never «OK». */
  readonly button: string
  readonly fields: readonly ActField[]
  /** Only when it cannot be undone: the warning, and the text that the operator types. */
  readonly final?: { readonly warning: string; readonly typed: string }
  /** The drawer stays as it was opened: later data of the page changes neither its words nor its requests. */
  readonly isFixed?: true
  /** Needs a privileged key; shown with a lock to others. */
  readonly isPrivileged?: true
  /** Returns the requests in order. Throws an Error with a sentence when the values do not fit. */
  requests(values: Values): readonly ActRequest[]
  /** Checks values before the requests are made, when this takes time. Throws an Error with a sentence. */
  check?(values: Values): Promise<void>
  /** Set when the first request takes `dry_run`. */
  readonly hasDryRun?: true
  /** What will happen. `dryRun` is the answer of the dry run. */
  effects(values: Values, dryRun: JsonObject | undefined): readonly Effect[]
  /** Looks at the answers before the next request is sent. Throws an Error with a sentence to stop. */
  checkAnswers?(answers: readonly JsonObject[]): void
  done(answers: readonly JsonObject[], values: Values): ActDone
  /** What to check when no answer came. */
  readonly unknown?: { readonly text: string; readonly href: string; readonly link: string }
}

/** What the drawer of an act needs. */
export interface DrawerProps {
  readonly act: Act
  readonly onClose: () => void
}
