import { toBase64 } from '../canonical/base64.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import { sha256Hex } from '../canonical/digest.ts'
import { type JsonObject, type JsonValue, emptyObject, isJsonObject, member, toUtf8 } from '../canonical/utf8.ts'
import { FormError } from '../reading/schema.ts'
import type { FormMembers, RecordForm } from '../reading/trust-form.ts'
import { VALID, type Verdict, invalid } from '../artifacts/verdict.ts'
import { asJson, verifyAny } from './verify-any.ts'
import type { Signature, Signer } from './keys.ts'

/**
 * A trust record as it came: typed for decisions, and untouched for its signature. Signed bytes are always built from
 * `wire`, so a default filled in while reading can never become something the signer said.
 */
export interface Received<Value> {
  readonly form: RecordForm<Value>
  readonly record: Value
  readonly wire: JsonObject
  /** It came out of a text in canonical form, plainly spelled: the platform's own writer gives that text back. */
  readonly isPlain?: boolean
}

/** Step F1 (protocol/trust-operations 1.4). Throws {@link FormError}. */
export function readReceived<Value>(form: RecordForm<Value>, value: JsonValue, isPlain = false): Received<Value> {
  if (!isJsonObject(value)) throw new FormError('', 'an object is needed')
  return { form, record: form.read(value, ''), wire: value, isPlain }
}

/** A record this product made itself, seen the same way. */
export function asReceived<Value extends object>(form: RecordForm<Value>, record: Value): Received<Value> {
  return { form, record, wire: asJson(record) }
}

/** Step F2: the signed projection as received, without members of class "omit" that are null. */
export function signedProjection({ form, wire }: Received<unknown>): JsonObject {
  // A record without a signature loses nothing, not even a member that is called "none".
  const dropped = form.signature === 'none' ? undefined : form.signature
  if (form.only === undefined) return project(form.inside, wire, dropped)
  const picked = emptyObject()
  for (const name of form.only) picked[name] = member(wire, name) ?? null
  return project(form.inside, picked, dropped)
}

/** The object itself where nothing is left out anywhere in it, as in nearly every record; otherwise a copy without. */
function project(members: FormMembers, wire: JsonObject, dropped?: string): JsonObject {
  let copy: { [name: string]: JsonValue } | undefined
  const names = Object.keys(wire)
  for (const [at, name] of names.entries()) {
    const value = wire[name] as JsonValue
    const described = Object.hasOwn(members, name) ? members[name] : undefined
    const isLeftOut = name === dropped || (described?.signed === 'omit' && value === null)
    const { inside } = described ?? {}
    const inner = isLeftOut || inside === undefined || !mayOmit(inside) ? value : eachPart(inside, value)
    if (copy === undefined && (isLeftOut || inner !== value)) copy = copyOf(wire, names.slice(0, at))
    if (copy !== undefined && !isLeftOut) copy[name] = inner
  }
  return copy ?? wire
}

/** No prototype: a received member named __proto__ stays an ordinary, signed member. */
function copyOf(wire: JsonObject, names: readonly string[]): { [name: string]: JsonValue } {
  const copy = emptyObject()
  for (const name of names) copy[name] = wire[name] as JsonValue
  return copy
}

const omitting = new WeakMap<FormMembers, boolean>()

/** Whether anything can be left out at any depth; most parts are signed as they are and need no copy. */
function mayOmit(members: FormMembers): boolean {
  const known = omitting.get(members)
  if (known !== undefined) return known
  const found = Object.values(members).some(
    ({ signed, inside }) => signed === 'omit' || (inside !== undefined && mayOmit(inside)),
  )
  omitting.set(members, found)
  return found
}

function eachPart(members: FormMembers, value: JsonValue): JsonValue {
  if (!Array.isArray(value)) return isJsonObject(value) ? project(members, value) : value
  const items = value as readonly JsonValue[]
  const parts = items.map((item) => eachPart(members, item))
  return parts.some((part, at) => part !== items[at]) ? parts : items
}

/** The bytes the signatures cover. */
export function receivedBytes(received: Received<unknown>): Uint8Array {
  return toUtf8(signedText(received))
}

/** H(C(record without its signature)): how one record names another. */
export function receivedDigest(received: Received<unknown>): string {
  return sha256Hex(signedText(received))
}

/** The canonical text whose bytes the signatures cover. */
export function signedText(received: Received<unknown>): string {
  const projection = signedProjection(received)
  // A fixed list of members is in the order of the list, not of the text.
  const isInOrder = received.isPlain === true && received.form.only === undefined
  return isInOrder ? JSON.stringify(projection) : canonicalJson(projection)
}

/** The signatures the record carries, whichever member holds them. */
export function signaturesOf({ form, record }: Received<unknown>): readonly Signature[] {
  const held = record as { readonly signature?: Signature | null; readonly signatures?: readonly Signature[] }
  if (form.signature === 'signatures') return held.signatures ?? []
  return held.signature === undefined || held.signature === null ? [] : [held.signature]
}

/** Step F3: one of the signatures verifies under one of the keys. */
export async function verifyReceivedSignature(received: Received<unknown>, keys: readonly string[]): Promise<boolean> {
  const signatures = signaturesOf(received)
  return signatures.length > 0 && verifyAny(receivedBytes(received), signatures, keys)
}

/**
 * Steps F4 and F5, to be asked only after F3 held.
 * F4. A member outside the field table: it is signed, but has no defined meaning.
 * F5. A member that the signed body must have is absent: the reader's default would be our statement, not the signer's. The
 *     timestamp half of F5 is already certain: F1 reads no other form.
 */
export function checkReceivedForm({ form, wire }: Received<unknown>): Verdict<'unknown_field' | 'non_canonical_form'> {
  const members = form.only === undefined ? form.inside : pick(form.inside, form.only)
  const signed = form.only === undefined ? wire : pick(wire, form.only)
  const fault = faultOf(members, signed)
  if (fault === SOUND) return VALID
  return invalid(fault === UNKNOWN ? 'unknown_field' : 'non_canonical_form')
}

function pick<Value>(from: { readonly [name: string]: Value }, names: readonly string[]): { [name: string]: Value } {
  return Object.fromEntries(names.flatMap((name) => (Object.hasOwn(from, name) ? [[name, from[name] as Value]] : [])))
}

/** The members of a description, as each check of a record reads them; made once for each. */
type MemberList = readonly (readonly [name: string, isNeeded: boolean, inside: FormMembers | undefined])[]

const memberLists = new WeakMap<FormMembers, MemberList>()

function listOf(members: FormMembers): MemberList {
  let list = memberLists.get(members)
  if (list === undefined) {
    list = Object.entries(members).map(
      ([name, { signed, inside }]) => [name, signed === 'yes' || signed === 'null', inside] as const,
    )
    memberLists.set(members, list)
  }
  return list
}

/** The higher one is reported. */
const SOUND = 0
const LACKING = 1
const UNKNOWN = 2

/** Looks into each closed object of the record, at any depth outside open objects. */
function faultOf(members: FormMembers, value: JsonValue): number {
  let worst = SOUND
  if (Array.isArray(value)) {
    for (const item of value as readonly JsonValue[]) worst = Math.max(worst, faultOf(members, item))
    return worst
  }
  if (!isJsonObject(value)) return worst
  let known = 0
  for (const [name, isNeeded, inside] of listOf(members)) {
    const found = member(value, name)
    if (found === undefined) worst = Math.max(worst, isNeeded ? LACKING : SOUND)
    else {
      known += 1
      if (inside !== undefined) worst = Math.max(worst, faultOf(inside, found))
    }
  }
  return known === Object.keys(value).length ? worst : UNKNOWN
}

export type FormReason = 'missing_signature' | 'invalid_signature' | 'unknown_field' | 'non_canonical_form'

/**
 * The form check F2 to F5 of protocol/trust-operations 1.4, in that order: an unsigned addition is always reported as
 * a bad signature, never as an unknown member, so the response reveals nothing about the field tables.
 */
export async function verifyReceived(
  received: Received<unknown>,
  keys: readonly string[],
): Promise<Verdict<FormReason>> {
  if (signaturesOf(received).length === 0) return invalid('missing_signature')
  if (!(await verifyReceivedSignature(received, keys))) return invalid('invalid_signature')
  return checkReceivedForm(received)
}

/** The same for records whose routes know only two reasons: a foreign form is then no valid signature. */
export async function verifyReceivedPlainly(
  received: Received<unknown>,
  keys: readonly string[],
): Promise<Verdict<'missing_signature' | 'invalid_signature'>> {
  const verdict = await verifyReceived(received, keys)
  if (verdict.ok || verdict.reason === 'missing_signature') return verdict as Verdict<'missing_signature'>
  return invalid('invalid_signature')
}

/** Adds the signer's signature over the signed projection; `keyId` differs where the record names another label. */
export async function signForm<Value extends object>(
  form: RecordForm<Value>,
  draft: Value,
  signer: Signer,
  keyId: string = signer.keyId,
): Promise<Value> {
  const sig = toBase64(await signer.sign(receivedBytes(asReceived(form, draft))))
  return addSignature(form, draft, { key_id: keyId, sig })
}

/** Puts a signature where the record carries it; the signed bytes stay the same. */
export function addSignature<Value extends object>(form: RecordForm<Value>, draft: Value, signature: Signature): Value {
  if (form.signature === 'signature') return { ...draft, signature }
  return { ...draft, signatures: [...signaturesOf(asReceived(form, draft)), signature] }
}
