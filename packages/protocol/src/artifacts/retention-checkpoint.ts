import { compareCodePoints } from '../canonical/canonical-json.ts'
import type { JsonObject } from '../canonical/utf8.ts'
import { type Read, type ReadBy, described } from '../reading/schema.ts'
import { closed, integer, object, required, string } from '../reading/shape.ts'
import { identifier, timestamp } from '../reading/text.ts'
import { orNull, signedOnceForm, yes } from '../reading/trust-form.ts'

export type ResourceHeads = { readonly [resource_id: string]: ResourceHead }

const position = integer(1, Number.MAX_SAFE_INTEGER)
const head = closed({ resource_sequence: required(position), record_digest: required(string) })

/** The last removed record of a resource: where its chain goes on. */
export type ResourceHead = ReadBy<typeof head>

/** Resource ids are free names; the value of each is a closed object. */
const heads: Read<ResourceHeads> = (value, field) => {
  const found = object(value, field)
  for (const [name, each] of Object.entries(found)) head(each, `${field}.${name}`)
  return found as JsonObject & ResourceHeads
}

described(heads, (of) => ({ type: 'object', additionalProperties: of(head) }))

/** `observation_heads` is reserved: this release writes none, and one that is met is a member it does not know. */
export const retentionCheckpointForm = signedOnceForm({
  checkpoint_id: yes(identifier),
  created_at: yes(timestamp),
  cutoff: yes(timestamp),
  removed_through_sequence: yes(position),
  last_removed_entry_digest: yes(string),
  removed_count: yes(position),
  resource_heads: yes(heads),
  previous_checkpoint_id: orNull(identifier),
  issued_by: yes(identifier),
})

/** The signed boundary behind which entries were removed (protocol/trust-operations 6.11). */
export type RetentionCheckpoint = ReadBy<typeof retentionCheckpointForm>

export function draftRetentionCheckpoint(
  facts: Omit<RetentionCheckpoint, 'signature' | 'resource_heads'> & {
    readonly heads: ReadonlyMap<string, ResourceHead>
  },
): RetentionCheckpoint {
  const { heads: given, ...named } = facts
  const sorted = [...given].sort(([a], [b]) => compareCodePoints(a, b))
  return { ...named, resource_heads: Object.fromEntries(sorted), signature: null }
}
