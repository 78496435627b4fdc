import type { JsonObject } from '@chancery/protocol'
import type { FunctionComponent } from 'preact'
import { type ReadDraft, type TextProblem, policyText, readDraft } from '../policies/policy-text.ts'

/** What a view of the draft that is not its text gets. */
export interface DraftViewProps {
  readonly text: string
  readonly problems: readonly TextProblem[]
  /** True when the policy has no version yet: its id can be chosen. */
  readonly isNew: boolean
  readonly onText: (text: string) => void
}

/** How a draft is written. Every format gives the same policy. The text of the form is JSON. */
export interface DraftFormat {
  readonly name: 'Form' | 'JSON' | 'YAML'
  readonly read: (text: string) => ReadDraft
  readonly write: (intent: JsonObject) => string
  /** Shown in place of the text. */
  readonly View?: FunctionComponent<DraftViewProps>
}

export const FORMATS = ['Form', 'JSON', 'YAML'] as const

export const JSON_FORMAT: DraftFormat = { name: 'JSON', read: readDraft, write: policyText }

/** A text, its format, and what the operator wrote in the other format, with its comments. */
export interface Writing {
  readonly text: string
  readonly format: DraftFormat
  readonly before?: { readonly text: string; readonly format: DraftFormat }
}

/** Writes the draft in another format. A text that cannot be read stays as it is. */
export function changeFormat(now: Writing, format: DraftFormat): Writing {
  const { intent } = now.format.read(now.text)
  if (intent === undefined || format.name === now.format.name) return now
  const earlier = now.before?.format.read(now.before.text).intent
  const isSame = earlier !== undefined && policyText(earlier) === policyText(intent)
  // Only YAML has comments. A walk from YAML to the form to JSON and back must return them.
  const before = now.format.name === 'YAML' || !isSame ? { text: now.text, format: now.format } : now.before
  const kept = before === undefined ? {} : { before }
  // The same policy: the earlier text returns with its comments.
  if (isSame && now.before?.format.name === format.name) return { text: now.before.text, format, ...kept }
  return { text: format.write(intent), format, ...kept }
}
