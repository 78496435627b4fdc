import { EXAMPLE_LATER, EXAMPLE_TIME, exampleRecordName } from '@chancery/contract'
import { HOUR, type Instant, type JsonObject, type JsonValue, isJsonObject, writeInstant } from '@chancery/protocol'
import { exampleRecord } from './example-record.ts'
import { SAMPLE_FEED_KEY, SAMPLE_KEY, SAMPLE_SIGNATURE } from './samples.ts'

/** What the authority puts into the examples of its own document. */
export interface ExampleFacts {
  readonly sovereign_id: string
  readonly authorityKey: string
  readonly now: Instant
}

/** Replaces the values in brackets, so that the example passes the form checks of its route. */
export function fillExample(example: JsonObject, facts: ExampleFacts): JsonObject {
  const words: Readonly<Record<string, string>> = {
    '<public key>': SAMPLE_KEY,
    '<public key of the feed>': SAMPLE_FEED_KEY,
    '<signature>': SAMPLE_SIGNATURE,
    '<random nonce>': 'a-nonce-of-32-characters-at-least',
    '<public key of the authority>': facts.authorityKey,
    '<own sovereign id>': facts.sovereign_id,
    '<network name>': facts.sovereign_id,
    [EXAMPLE_TIME]: writeInstant(facts.now),
    [EXAMPLE_LATER]: writeInstant(facts.now + 24n * HOUR),
  }
  return fill(example) as JsonObject

  function fill(value: JsonValue): JsonValue {
    const record = exampleRecordName(value)
    if (record !== undefined) return exampleRecord(record, facts.now)
    if (typeof value === 'string') return words[value] ?? withoutBrackets(value)
    if (Array.isArray(value)) return (value as readonly JsonValue[]).map(fill)
    if (!isJsonObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [withoutBrackets(name), fill(inner)]))
  }
}

/** Names in brackets become ids: `<sovereign id>` is `sovereign-id`. */
function withoutBrackets(text: string): string {
  return text.startsWith('<') && text.endsWith('>') ? text.slice(1, -1).replaceAll(' ', '-') : text
}
