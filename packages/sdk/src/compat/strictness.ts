import {
  BOUNDARY_POLICY_FORM,
  ENTRY_KINDS,
  accessIntentForm,
  agreementRecordForm,
  boundaryDecisionForm,
  executionEvidenceForm,
  isJsonObject,
  justificationForm,
  licensePolicyForm,
  readInstant,
  retentionCheckpointForm,
  writeInstant,
} from '@chancery/protocol'
import type { JsonObject, JsonValue, RecordForm } from '@chancery/protocol'

/** Records whose members are compared. */
export type StrictKind =
  | 'decision'
  | 'justification'
  | 'policy'
  | 'execution'
  | 'retention_checkpoint'
  | 'agreement'
  | 'license'
  | 'intent'

const FORMS: Readonly<Record<StrictKind, RecordForm<unknown>>> = {
  decision: boundaryDecisionForm,
  justification: justificationForm,
  policy: BOUNDARY_POLICY_FORM,
  execution: executionEvidenceForm,
  retention_checkpoint: retentionCheckpointForm,
  agreement: agreementRecordForm,
  license: licensePolicyForm,
  intent: accessIntentForm,
}

type Inside = RecordForm<unknown>['inside']

/** Returns the paths of members that are not part of this record form: they are signed, but have no defined meaning. */
export function unknownFields(kind: StrictKind, record: object): readonly string[] {
  return [...unknownIn(FORMS[kind].inside, record as JsonObject, '')]
}

function* unknownIn(members: Inside, value: JsonValue, place: string): Generator<string> {
  if (Array.isArray(value)) {
    for (const [index, item] of (value as readonly JsonValue[]).entries())
      yield* unknownIn(members, item, `${place}[${index}]`)
    return
  }
  if (!isJsonObject(value)) return
  for (const [name, each] of Object.entries(value)) {
    const path = place === '' ? name : `${place}.${name}`
    const member = Object.hasOwn(members, name) ? members[name] : undefined
    if (member === undefined) {
      if (place !== '' || (name !== 'signature' && name !== 'signatures')) yield path
    } else if (member.inside !== undefined) yield* unknownIn(member.inside, each, path)
  }
}

/** The one spelling of an instant in signed records; undefined for a text that is none. */
export function canonicalTimestamp(text: string): string | undefined {
  const instant = readInstant(text)
  return instant === undefined ? undefined : writeInstant(instant)
}

const TIME_NAME = /(?:_at|_until|_from|_to|_before|_after|timestamp)$/

/** Places of times that are spelled in another way than the one that is signed. */
export function nonCanonicalTimestamps(record: object): readonly string[] {
  return [...timesIn(record as JsonObject, '')]
}

function* timesIn(value: JsonValue, place: string): Generator<string> {
  if (Array.isArray(value)) {
    for (const [index, item] of (value as readonly JsonValue[]).entries()) yield* timesIn(item, `${place}[${index}]`)
    return
  }
  if (!isJsonObject(value)) return
  for (const [name, each] of Object.entries(value)) {
    const path = place === '' ? name : `${place}.${name}`
    if (typeof each !== 'string') yield* timesIn(each, path)
    else if (TIME_NAME.test(name) && canonicalTimestamp(each) !== each) yield path
  }
}

export function isKnownEntryKind(kind: string): boolean {
  return (ENTRY_KINDS as readonly string[]).includes(kind)
}
