import { type JsonObject, isJsonObject, member } from '../canonical/utf8.ts'
import type { Signature } from '../signing/keys.ts'
import { FormError, type Read, type Schema, type SchemaOf, described, orNullSchema, placeOf } from './schema.ts'
import { arrayOf, nullable, string } from './shape.ts'
import { identifier } from './text.ts'

/** Longest list inside a trust record, signatures apart (protocol/trust-operations 1.5). */
export const MAX_ITEMS = 1024
/** More would make one record cost many verifications. */
export const MAX_SIGNATURES = 8

/** The form of a member in the signed body (protocol/trust-operations 1.1). */
export type SignedClass = 'yes' | 'null' | 'omit' | 'no' | 'sig'

export interface FormMember<Value, Class extends SignedClass = SignedClass> {
  readonly read: Read<Value>
  readonly signed: Class
  /** Members of the closed object, or of each closed object of the list. */
  readonly inside: FormMembers | undefined
  /** Present for members that may be left out on the wire. */
  readonly absent?: Value
}

export type FormMembers = { readonly [name: string]: FormMember<unknown> }

/** A value that holds closed objects; a bare {@link Read} stands for scalars, timestamps and open objects. */
export interface Kind<Value> {
  readonly read: Read<Value>
  readonly inside: FormMembers | undefined
}

type KindOrRead<Value> = Kind<Value> | Read<Value>
type Omitted = { readonly signed: 'omit' }
type Values<Members extends FormMembers> = {
  readonly [Name in keyof Members as Members[Name] extends Omitted ? never : Name]: Members[Name] extends FormMember<
    infer Value
  >
    ? Value
    : never
} & {
  readonly [Name in keyof Members as Members[Name] extends Omitted ? Name : never]?: Members[Name] extends FormMember<
    infer Value
  >
    ? Value
    : never
}
/** The typed record a description stands for. */
export type RecordOf<Members extends FormMembers> = { [Name in keyof Values<Members>]: Values<Members>[Name] }

function kindOf<Value>(given: KindOrRead<Value>): Kind<Value> {
  return typeof given === 'function' ? { read: given, inside: undefined } : given
}

/** Class "yes": always inside the signed body. `absent` is the default of step F1; signed bytes must still hold it. */
export function yes<Value>(kind: KindOrRead<Value>, absent?: NoInfer<Value>): FormMember<Value, 'yes'> {
  return { ...kindOf(kind), signed: 'yes', ...(absent === undefined ? {} : { absent }) }
}

/** Class "null": always present, JSON null when there is no value. */
export function orNull<Value>(kind: KindOrRead<Value>): FormMember<Value | null, 'null'> {
  const { read, inside } = kindOf(kind)
  return { read: nullable(read), inside, signed: 'null', absent: null }
}

/** Class "omit": left out of the signed body when there is no value; a received null is an absent member. */
export function omit<Value>(kind: KindOrRead<Value>): FormMember<Value, 'omit'> {
  return { ...kindOf(kind), signed: 'omit' }
}

/** Class "no": read, but nothing may be granted on its strength. */
export function unsigned<Value>(kind: KindOrRead<Value>): FormMember<Value, 'no'> {
  return { ...kindOf(kind), signed: 'no' }
}

/** A closed object inside a record. Unknown members pass here: only step F4, after the signature, speaks of them. */
export function closedPart<Members extends FormMembers>(
  members: Members,
  rule?: (part: RecordOf<Members>) => void,
): Kind<RecordOf<Members>> {
  return { read: readerOf(members, rule), inside: members }
}

export function listOf<Value>(
  item: KindOrRead<Value>,
  bounds: { readonly min?: number; readonly max?: number } = {},
): Kind<readonly Value[]> {
  const { read, inside } = kindOf(item)
  return { read: arrayOf(read, { max: MAX_ITEMS, ...bounds }), inside }
}

/** The description of one trust record, from which reading, signed bytes and form checks all derive. */
export interface RecordForm<Value> extends Kind<Value> {
  readonly inside: FormMembers
  readonly signature: 'signature' | 'signatures' | 'none'
  /** Signed members where they are a fixed list (protocol/trust-operations 3.4); otherwise all but the signature. */
  readonly only: readonly string[] | undefined
}

type Traits<Value> = { readonly only?: readonly string[]; readonly rule?: (record: Value) => void }

/** A record signed by one party. */
export function signedOnceForm<Members extends FormMembers>(
  members: Members,
  traits: Traits<RecordOf<Members>> = {},
): RecordForm<RecordOf<Members> & { readonly signature: Signature | null }> {
  const signature = { read: nullable(signatureObject), inside: undefined, signed: 'sig', absent: null } as const
  return recordForm({ ...members, signature }, 'signature', traits) as RecordForm<
    RecordOf<Members> & { readonly signature: Signature | null }
  >
}

/** A record that several parties may sign. */
export function signedListForm<Members extends FormMembers>(
  members: Members,
  traits: Traits<RecordOf<Members>> = {},
): RecordForm<RecordOf<Members> & { readonly signatures: readonly Signature[] }> {
  const read = arrayOf(signatureObject, { max: MAX_SIGNATURES })
  const signatures = { read, inside: undefined, signed: 'sig', absent: [] } as const
  return recordForm({ ...members, signatures }, 'signatures', traits) as RecordForm<
    RecordOf<Members> & { readonly signatures: readonly Signature[] }
  >
}

/** A record that is only digested, or has no separate proof. */
export function unsignedForm<Members extends FormMembers>(
  members: Members,
  traits: Traits<RecordOf<Members>> = {},
): RecordForm<RecordOf<Members>> {
  return recordForm(members, 'none', traits) as RecordForm<RecordOf<Members>>
}

function recordForm(
  members: FormMembers,
  signature: RecordForm<unknown>['signature'],
  // The caller's generic signature ties the rule to the members; here both are plain data.
  { only, rule }: Traits<never>,
): RecordForm<unknown> {
  const read = readerOf(members, rule as ((record: unknown) => void) | undefined, only !== undefined)
  return { read, inside: members, signature, only }
}

/** A label and a text; whether they prove anything is step F3's question. Further members are ignored. */
const signatureObject: Read<Signature> = described(
  (value, field) => {
    if (!isJsonObject(value)) throw new FormError(field, 'an object is needed')
    const [keyId, sig] = [member(value, 'key_id'), member(value, 'sig')]
    if (keyId === undefined || sig === undefined) throw new FormError(field, 'key_id and sig are needed')
    return { key_id: identifier(keyId, placeOf(field, 'key_id')), sig: string(sig, placeOf(field, 'sig')) }
  },
  (of) => ({ type: 'object', properties: { key_id: of(identifier), sig: of(string) }, required: ['key_id', 'sig'] }),
  'signature',
)

/** Step F1 (protocol/trust-operations 1.4): types, constraints and defaults of the known members. */
function readerOf<Members extends FormMembers>(
  members: Members,
  rule: ((value: RecordOf<Members>) => void) | undefined,
  isOpen = false,
): Read<RecordOf<Members>> {
  const entries = Object.entries(members)
  const read: Read<RecordOf<Members>> = (value, field) => {
    if (!isJsonObject(value)) throw new FormError(field, 'an object is needed')
    const out: { [name: string]: unknown } = {}
    for (const [name, expected] of entries) {
      const found = readMember(value, name, expected, field)
      if (found !== undefined) out[name] = found
    }
    const record = out as RecordOf<Members>
    rule?.(record)
    return record
  }
  return described(read, (of) => partSchema(entries, isOpen, of))
}

/** What steps F1, F4 and F5 take together: a member with a default must still stand in what was signed. */
function partSchema(entries: readonly [string, FormMember<unknown>][], isOpen: boolean, of: SchemaOf): Schema {
  const isNeeded = ({ signed, absent }: FormMember<unknown>): boolean =>
    signed === 'yes' || signed === 'null' || (signed === 'no' && absent === undefined)
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, each]) => [name, memberSchema(each, of)])),
    required: entries.flatMap(([name, each]) => (isNeeded(each) ? [name] : [])),
    // Where only some members are signed, others are ignored (protocol/trust-operations 1.4).
    ...(isOpen ? {} : { additionalProperties: false }),
  }
}

function memberSchema({ read, signed }: FormMember<unknown>, of: SchemaOf): Schema {
  return signed === 'omit' ? orNullSchema(of(read)) : of(read)
}

function readMember(record: JsonObject, name: string, expected: FormMember<unknown>, field: string): unknown {
  const value = member(record, name)
  if (expected.signed === 'omit' && (value === undefined || value === null)) return undefined
  const place = placeOf(field, name)
  if (value !== undefined) return expected.read(value, place)
  if (expected.absent !== undefined) return expected.absent
  throw new FormError(place, 'is missing')
}
