import type { JsonObject } from '@chancery/protocol'
import { policyText, readDraft } from '../policies/policy-text.ts'
import type { ReadDraft } from '../policies/policy-text.ts'

/** How a draft is written. Every format gives the same policy. */
export interface DraftFormat {
  readonly name: 'JSON' | 'YAML'
  readonly read: (text: string) => ReadDraft
  readonly write: (intent: JsonObject) => string
}

export const JSON_FORMAT: DraftFormat = { name: 'JSON', read: readDraft, write: policyText }

/** Loads a format. The reader of YAML is a separate script, loaded on first use. */
export async function loadFormat(name: DraftFormat['name'] | undefined): Promise<DraftFormat> {
  return name === 'YAML' ? (await import('./yaml-format.ts')).YAML_FORMAT : JSON_FORMAT
}

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
  const before = { text: now.text, format: now.format }
  const earlier = now.before?.format.read(now.before.text).intent
  // The same policy: the earlier text returns with its comments.
  if (now.before?.format.name === format.name && earlier !== undefined && policyText(earlier) === policyText(intent))
    return { text: now.before.text, format, before }
  return { text: format.write(intent), format, before }
}
