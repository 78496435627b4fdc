import {
  detectRecordKind,
  isJsonObject,
  JsonFloat,
  RECORD_KINDS,
  verifyRecordOfKind,
  writeJson,
} from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import { FloatNumber, ManualClock, startTestAuthority, wireText } from '@chancery/testkit'
import type { ForeignObject, ForeignValue, TestAuthority, TestResponse } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { changes, tamperSignatures } from '../lib/tampering.ts'
import { foreignTargets, makeTargets, type Route, type Target, tryRead } from './targets.ts'

export const summary =
  'every field of every signed record changed, removed, added, retyped; every pair of kinds: none holds'
/** Every single change of 29 records, then random edits of their texts. */
export const defaultCount = 100_000

/** One of this many random edits is also sent over HTTP. */
const PRESENTED = 10
const AT_ONCE = 16
const SHOWN = 10

interface Mutant {
  readonly target: Target
  readonly what: string
  readonly text: string
}

/** Counts refusals by kind. An accepted change or an internal error is a violation. */
class Tally {
  cases = 0
  violations = 0
  presented = 0
  readonly #log: (line: string) => void

  constructor(log: (line: string) => void) {
    this.#log = log
  }

  complain(line: string): void {
    this.violations += 1
    if (this.violations <= SHOWN) this.#log(line.slice(0, 1000))
  }
}

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const clock = new ManualClock('2027-03-04T05:06:30Z')
  const na = await startTestAuthority({ backend: 'sqlite', clock, settings: { NA_CLOCK_CHECK: 'off' } })
  try {
    const random = seededRandom(seed)
    const targets = [...makeTargets(), ...(await foreignTargets(na, random))]
    const tally = new Tally(log)
    for (const target of targets) await requireHolding(na, target)
    await crossKinds(na, targets, tally)
    log(`${tally.cases} pairs of kinds`)
    for (const target of targets) {
      const mutants = [...fieldChanges(target, random)].slice(0, Math.max(0, count - tally.cases))
      await verifyAll(na, mutants, tally, () => true)
    }
    log(`${tally.cases} with every single change`)
    while (tally.cases < count) {
      const size = Math.min(1000, count - tally.cases)
      const mutants = Array.from({ length: size }, () => textEdit(targets, random))
      await verifyAll(na, mutants, tally, () => random.below(PRESENTED) === 0)
    }
    log(`${tally.presented} of them presented over HTTP`)
    return { cases: tally.cases, violations: tally.violations }
  } finally {
    await na.stop()
  }
}

/** Every unchanged record must be valid; otherwise the campaign would prove nothing. */
async function requireHolding(na: TestAuthority, target: Target): Promise<void> {
  const verdict = await verifyRecordOfKind(target.kind, target.record, target.trust)
  if (!verdict.ok) throw new Error(`the untouched ${target.kind} does not hold: ${verdict.reason}`)
  for (const route of target.routes) {
    const answer = await present(na, route, writeJson(target.record))
    if (!isAccepted(answer)) throw new Error(`the untouched ${target.kind} is refused: ${answer.text.slice(0, 300)}`)
  }
}

/** Presents each record as every other kind, to the library and to every verify route. */
async function crossKinds(na: TestAuthority, targets: readonly Target[], tally: Tally): Promise<void> {
  for (const target of targets) {
    if (detectRecordKind(target.record) !== target.kind) tally.complain(`${target.kind} is not recognised`)
    for (const as of RECORD_KINDS) {
      // Signed bytes of a counter and of its record are the same by design.
      const isSame = as === target.kind || (target.kind === 'agreement-record' && as === 'capability-counter')
      if (isSame) continue
      tally.cases += 1
      if ((await verifyRecordOfKind(as, target.record, target.trust)).ok)
        tally.complain(`${target.kind} passes for ${as}`)
    }
    for (const other of targets) {
      if (other.kind === target.kind) continue
      for (const route of other.routes) {
        tally.cases += 1
        await checkRefused(na, route, target.kind, writeJson(target.record), tally)
      }
    }
  }
}

async function verifyAll(
  na: TestAuthority,
  mutants: readonly Mutant[],
  tally: Tally,
  isPresented: () => boolean,
): Promise<void> {
  for (let at = 0; at < mutants.length; at += AT_ONCE)
    await Promise.all(mutants.slice(at, at + AT_ONCE).map((mutant) => checkMutant(na, mutant, tally, isPresented())))
}

async function checkMutant(na: TestAuthority, mutant: Mutant, tally: Tally, isPresented: boolean): Promise<void> {
  const { target, what, text } = mutant
  tally.cases += 1
  const value = tryRead(text)
  if (isJsonObject(value) && (await holds(target, value))) tally.complain(`${target.kind}: ${what} holds: ${text}`)
  if (!isPresented) return
  for (const route of target.routes)
    // An operator signs the value, so a text that is not JSON cannot be sent.
    if (route.isOperators === undefined || value !== undefined)
      await checkRefused(na, route, `${target.kind}: ${what}`, text, tally)
}

async function checkRefused(na: TestAuthority, route: Route, what: string, text: string, tally: Tally): Promise<void> {
  tally.presented += 1
  const answer = await present(na, route, text)
  if (isAccepted(answer) || answer.status >= 500)
    tally.complain(`${what} at ${route.path}: ${answer.status} ${answer.text.slice(0, 200)}: ${text}`)
}

async function holds({ kind, trust }: Target, value: JsonObject): Promise<boolean> {
  return (await verifyRecordOfKind(kind, value, trust)).ok
}

function present(na: TestAuthority, route: Route, text: string): Promise<TestResponse> {
  const { path, isOperators } = route
  const rawBody = route.bodyOf(text)
  if (isOperators) return na.as('privileged')('POST', path, tryRead(rawBody) as JsonObject)
  return na.request('POST', path, { rawBody, headers: { 'content-type': 'application/json' } })
}

function isAccepted({ status, json }: TestResponse): boolean {
  if (status !== 200 || !isJsonObject(json)) return false
  return json['accepted'] === true || json['valid'] === true
}

/** Returns every change of one member, except changes that leave the proved part unchanged. */
function* fieldChanges(target: Target, random: Random): Generator<Mutant> {
  const record = toForeign(target.record) as ForeignObject
  const original = target.partOf(target.record)
  for (const { what, value } of changes(record, random, '')) {
    const text = wireText(value)
    if (isChanged(target, tryRead(text), original) && !/^signatures?\b/.test(what)) yield { target, what, text }
  }
  const field = 'signature' in record ? 'signature' : 'signatures'
  const carried = [record[field] ?? []].flat() as readonly ForeignObject[]
  if (carried.length !== 1) return
  for (const { what, value } of tamperSignatures(carried, random)) {
    // Further members of a signature object are ignored (protocol/trust-operations 1.4, note 2).
    if (what === 'member added to the signature' && !hasClosedSignatures(target)) continue
    const single: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value
    const { [field]: _dropped, ...rest } = record
    const put = field === 'signature' ? (single as ForeignObject | undefined) : value
    yield { target, what, text: wireText(put === undefined ? rest : { ...rest, [field]: put }) }
  }
}

/** Readers of the core protocol refuse them. */
function hasClosedSignatures({ kind }: Target): boolean {
  return ['membership-attestation', 'recognition-treaty', 'sovereign-revocation-feed'].includes(kind)
}

/** Converts the value to the types of the testkit, so that a double stays a double. */
function toForeign(value: JsonValue): ForeignValue {
  if (value instanceof JsonFloat) return new FloatNumber(value.value)
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(toForeign)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, toForeign(member)]))
}

/** Replaces, removes, adds or doubles one to three characters of the text. */
function textEdit(targets: readonly Target[], random: Random): Mutant {
  for (;;) {
    const target = targets[random.below(targets.length)]
    if (target === undefined) throw new RangeError('there is nothing to edit')
    let text = writeJson(target.record)
    const end = provedEnd(text)
    for (let edits = 1 + random.below(3); edits > 0; edits -= 1) text = edit(text, random.below(end), random)
    const value = tryRead(text)
    if (isChanged(target, value, target.partOf(target.record))) return { target, what: 'an edit of its text', text }
  }
}

/** Start of the signature: it is the last member, and its label may be anything. */
function provedEnd(text: string): number {
  const at = text.search(/,"signatures?":/)
  return at < 0 ? text.length : at
}

function edit(text: string, at: number, random: Random): string {
  const [before, after] = [text.slice(0, at), text.slice(at)]
  const put = random.pick(['0', '9', 'x', '"', ',', ':', '{', '}', '[', ']', '-', '.', 'e', '\\', 'é', 'null', 'true'])
  switch (random.below(4)) {
    case 0:
      return before + put + after.slice(1)
    case 1:
      return before + after.slice(1)
    case 2:
      return before + put + after
    default:
      return before + after.charAt(0) + after
  }
}

/** A text that is not JSON must be refused without an internal error. */
function isChanged(target: Target, value: JsonValue | undefined, original: string): boolean {
  return value === undefined || target.partOf(value) !== original
}
