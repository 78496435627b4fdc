import type { JsonObject, JsonValue } from '@chancery/protocol'
import type { ComponentChildren } from 'preact'
import { CallError, type Target, send } from '../client.ts'
import type { ShapeName, Tone } from '../parts/icons.ts'
import { type Toast, showToast } from '../parts/toasts.ts'
import { reloadAll } from '../parts/use-live.ts'
import { makePayload } from './payload.ts'

/** Signs and sends the one request of a way back. */
export type SendUndo = (target: Target, body: JsonObject) => Promise<JsonValue>

/**
 * Runs the way back of a toast. `work` signs at most one request and returns what is so now. `check` is the page that
 * shows whether it happened.
 */
export async function undo(
  work: (change: SendUndo) => Promise<string>,
  check: NonNullable<Toast['link']>,
): Promise<void> {
  let isSent = false
  try {
    const text = await work((target, body) => {
      isSent = true
      return send(makePayload({ method: 'POST', target, body }))
    })
    showToast({ text })
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    showToast(undoFailure(error, isSent, check))
  } finally {
    reloadAll()
  }
}

const UNKNOWN_MS = 30_000

/** What a failed way back reports. Without a response to the change, the console cannot state whether it happened. */
export function undoFailure(error: CallError, isSent: boolean, check: NonNullable<Toast['link']>): Toast {
  if (!isSent || !error.isUncertain) return { text: `It was not undone: ${error.message}` }
  return {
    text: 'It is not certain whether it was undone. No usable response came.',
    more: 'Check it before you do it again.',
    link: check,
    ms: UNKNOWN_MS,
  }
}

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
