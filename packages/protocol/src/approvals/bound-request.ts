import { type Asker, MAX_SHOWN, type ShownValue } from '../artifacts/approval-request.ts'
import { compareCodePoints } from '../canonical/canonical-json.ts'
import { digestOf } from '../canonical/digest.ts'
import { type JsonObject, type JsonValue, emptyObject, isJsonObject, member } from '../canonical/utf8.ts'
import { isScalar } from '../boundary/engine-question.ts'
import { type AttestationFacts, type ContextFacts, type FactPath, findFact } from '../boundary/facts.ts'
import { asJson } from '../signing/verify-any.ts'

/** The request as far as an approval binds it. Time, context id, certificate and treaty may differ at the use. */
export interface BoundFacts {
  readonly asker: Asker
  readonly context: ContextFacts
  /** Of the attestation; null for an agreement. */
  readonly issuer_sovereign_id: string | null
  readonly subject_id: string | null
  readonly resource_id: string | null
  /** Facts that may differ at the use. */
  readonly unbound: readonly FactPath[]
}

/** What an approval is for (protocol/approvals 3). Its digest is the request_digest. */
export function requestOfApproval(facts: BoundFacts): JsonObject {
  const { asker, context, issuer_sovereign_id, subject_id, resource_id, unbound } = facts
  const attributes = Object.entries(context.attributes).filter(([name]) => !name.startsWith('chancery_'))
  const leftOut = (root: string): readonly (readonly string[])[] =>
    unbound.flatMap(({ segments: [first, ...rest] }) => (first === root ? [rest] : []))
  return {
    type: 'chancery.request.v1',
    asker: asJson(asker),
    requested_capability: context.requested_capability,
    requester_sovereign_id: context.requester_sovereign_id,
    provider_sovereign_id: context.provider_sovereign_id,
    parent_kind: context.parent_kind,
    issuer_sovereign_id,
    subject_id,
    audience: audienceOf(context),
    resource_id,
    request_parameters: without(context.request_parameters, leftOut('request_parameters')),
    attributes: without(Object.fromEntries(attributes), leftOut('attributes')),
  }
}

export function requestDigest(facts: BoundFacts): string {
  return digestOf(requestOfApproval(facts))
}

function audienceOf({ attributes }: ContextFacts): JsonValue {
  const request = member(attributes, 'chancery_request')
  return isJsonObject(request) ? (member(request, 'audience') ?? null) : null
}

function without(object: JsonObject, paths: readonly (readonly string[])[]): JsonObject {
  const copy = emptyObject()
  for (const [name, value] of Object.entries(object)) {
    const below = paths.flatMap(([first, ...rest]) => (first === name ? [rest] : []))
    if (below.some((rest) => rest.length === 0)) continue
    copy[name] = below.length > 0 && isJsonObject(value) ? without(value, below) : value
  }
  return copy
}

/** `all`: every value of the parameters and attributes; otherwise the facts that the policy names. */
export type Show = 'all' | readonly FactPath[]

/** Characters of a text that an approver sees. */
const SHOWN_CHARACTERS = 256

interface Leaf {
  readonly path: string
  /** Undefined for an empty object or list. */
  readonly value: JsonValue | undefined
}

/**
 * What an approver sees of a request. It is not complete when anything of the request is left out: the approver must
 * know that there is more.
 */
export function showRequest(
  question: JsonObject,
  show: Show,
  facts: { readonly context: ContextFacts; readonly attestation: AttestationFacts | undefined },
): { readonly shown: readonly ShownValue[]; readonly isComplete: boolean } {
  const roots = ['request_parameters', 'attributes']
  const all = roots.flatMap((name) => {
    const value = member(question, name) ?? null
    return isJsonObject(value) && Object.keys(value).length === 0 ? [] : leavesOf(value, `/${name}`)
  })
  const bound = new Set(all.map(({ path }) => path))
  const wanted = show === 'all' ? all : show.flatMap((path) => leavesAt(path, facts, bound))
  const ordered = [...new Map(wanted.map((leaf) => [leaf.path, leaf])).values()]
    .filter(({ value }) => value !== undefined)
    .toSorted((a, b) => compareCodePoints(a.path, b.path))
  const shown = ordered.slice(0, MAX_SHOWN).map(({ path, value = null }) => toShown(path, value))
  const seen = new Set(shown.filter(({ cut }) => !cut).map(({ path }) => path))
  return { shown, isComplete: all.every(({ path }) => seen.has(path)) && shown.every(({ cut }) => !cut) }
}

/** Of the parameters and attributes only what the approval binds. */
function leavesAt(
  path: FactPath,
  facts: { readonly context: ContextFacts; readonly attestation: AttestationFacts | undefined },
  bound: ReadonlySet<string>,
): readonly Leaf[] {
  const { value } = findFact(path, facts)
  if (value === undefined) return []
  const leaves = leavesOf(value, `/${path.segments.join('/')}`)
  const isOfRequest = path.segments[0] === 'request_parameters' || path.segments[0] === 'attributes'
  return isOfRequest ? leaves.filter((leaf) => bound.has(leaf.path)) : leaves
}

function leavesOf(value: JsonValue, path: string): readonly Leaf[] {
  if (isScalar(value)) return [{ path, value }]
  const entries = Object.entries<JsonValue>(value)
  if (entries.length === 0) return [{ path, value: undefined }]
  return entries.flatMap(([name, each]) => leavesOf(each, `${path}/${escapePointer(name)}`))
}

/** RFC 6901. */
function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

function toShown(path: string, value: JsonValue): ShownValue {
  const characters = typeof value === 'string' && value.length > SHOWN_CHARACTERS ? [...value] : []
  if (characters.length <= SHOWN_CHARACTERS) return { path, value, cut: false }
  return { path, value: characters.slice(0, SHOWN_CHARACTERS).join(''), cut: true }
}
