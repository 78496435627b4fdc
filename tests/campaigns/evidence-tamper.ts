import {
  AnchorChecker,
  StoreChecker,
  canonicalJson,
  chainEntry,
  readEventLine,
  readReceived,
  storeAnchorForm,
} from '@chancery/protocol'
import type { JsonValue, StoreAnchor, StoreFinding } from '@chancery/protocol'
import { startTestAuthority } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from './campaign.ts'
import { EvidenceStory, decisionOf, objectOf } from './evidence-story.ts'
import { seededRandom } from './random.ts'
import type { Random } from './random.ts'

export const summary = 'exports edited, cut, reordered and forged anew from a place on: all found, at the right place'
export const defaultCount = 100_000

const SHOWN = 10

/** A sound export with what an auditor holds. */
interface Audit {
  readonly lines: readonly string[]
  readonly anchors: readonly StoreAnchor[]
  check(lines: readonly string[]): Promise<readonly StoreFinding[]>
}

/** One way to tamper: the lines that are shown, and the places that may be blamed for it. */
interface Tampered {
  readonly way: string
  readonly lines: readonly string[]
  readonly places: readonly number[]
}

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const audit = await prepare()
  const random = seededRandom(seed)
  const ways = new Map<string, number>()
  let violations = 0
  for (let done = 0; done < count; done += 1) {
    const tampered = tamper(audit.lines, random)
    const [first] = await audit.check(tampered.lines)
    ways.set(tampered.way, (ways.get(tampered.way) ?? 0) + 1)
    const isNamed = first !== undefined && tampered.places.includes(first.store_sequence ?? 0)
    if (isNamed) continue
    violations += 1
    const found = first === undefined ? 'nothing' : `${first.reason} at ${first.store_sequence}`
    if (violations <= SHOWN) log(`violation: ${tampered.way} at ${tampered.places.join(' or ')}: found ${found}`)
  }
  log([...ways].map(([way, times]) => `${way}: ${times}`).join(', '))
  return { cases: count, violations }
}

/** Fifteen entries of all kinds but checkpoints, anchored at three places, the last one included. */
async function prepare(): Promise<Audit> {
  const settings = { EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' }
  const na = await startTestAuthority({ backend: 'sqlite', settings })
  try {
    const operator = na.as('privileged')
    const story = await EvidenceStory.open({
      request: (method, target, options) => na.request(method, target, options),
      operator: (method, target, body) => operator(method, target, body),
    })
    for (let round = 0; round < 5; round += 1) {
      await story.execute(decisionOf(await story.decide()))
      if (round % 2 === 0) await story.anchor()
    }
    const lines = (await operator('GET', '/admin/evidence/export')).text.split('\n').slice(0, -1)
    const page = objectOf(await operator('GET', '/admin/evidence/anchors'))['anchors'] as readonly JsonValue[]
    const anchors = page.map((anchor) => readReceived(storeAnchorForm, anchor).record)
    const authority = [na.genesis.network_authority.public_key]
    const { keyId, publicKey } = story.executorKey
    const key = { public_key: publicKey, executor_sovereign_id: 'rotator' }
    const keys = { authority, executor: (id: string) => (id === keyId ? key : undefined) }
    const check = async (shown: readonly string[]): Promise<readonly StoreFinding[]> => {
      const checker = new StoreChecker({
        keys,
        scope: 'store',
        anchors: await AnchorChecker.open(anchors, authority, na.genesis.network_name),
      })
      for (const line of shown) await checker.add(line)
      return (await checker.finish()).failures
    }
    const unchanged = await check(lines)
    if (lines.length !== 15 || unchanged.length > 0)
      throw new Error(`the export is not sound: ${JSON.stringify(unchanged)}`)
    return { lines, anchors, check }
  } finally {
    await na.stop()
  }
}

function tamper(lines: readonly string[], random: Random): Tampered {
  const at = random.below(lines.length)
  switch (random.below(8)) {
    case 0:
      return removed(lines, at)
    case 1:
      return exchanged(lines, at, random)
    case 2:
      return cut(lines, at)
    case 3:
      return { way: 'repeat', lines: lines.toSpliced(at, 0, lines[at] ?? ''), places: [at + 1] }
    case 4:
      return forgedAnew(lines, at)
    case 5:
      return edited(
        'delete a character',
        lines,
        at,
        (line, place) => line.slice(0, place) + line.slice(place + 1),
        random,
      )
    case 6:
      return edited(
        'insert a character',
        lines,
        at,
        (line, place) => `${line.slice(0, place)}7${line.slice(place)}`,
        random,
      )
    default:
      return edited('change a character', lines, at, (line, place) => changeAt(line, place, random), random)
  }
}

/** The line itself is blamed, or the place it now claims to be. */
function edited(
  way: string,
  lines: readonly string[],
  at: number,
  edit: (line: string, place: number) => string,
  random: Random,
): Tampered {
  const line = lines[at] ?? ''
  const changed = edit(line, random.below(line.length))
  const claimed = readEventLine(changed)?.entry.store_sequence
  return { way, lines: lines.with(at, changed), places: [at + 1, ...(claimed === undefined ? [] : [claimed])] }
}

function changeAt(line: string, place: number, random: Random): string {
  const other = String.fromCharCode(0x20 + ((line.charCodeAt(place) - 0x20 + 1 + random.below(94)) % 95))
  return line.slice(0, place) + other + line.slice(place + 1)
}

/** A gap shows at the next entry; a missing end only against an anchor. */
function removed(lines: readonly string[], at: number): Tampered {
  return { way: 'remove', lines: lines.toSpliced(at, 1), places: [at === lines.length - 1 ? at + 1 : at + 2] }
}

function exchanged(lines: readonly string[], at: number, random: Random): Tampered {
  const other = (at + 1 + random.below(lines.length - 1)) % lines.length
  const [first, second] = [Math.min(at, other), Math.max(at, other)]
  const shown = lines.with(first, lines[second] ?? '').with(second, lines[first] ?? '')
  // A run may begin right behind an anchor: then the line after its first is the one that does not fit.
  return { way: 'exchange', lines: shown, places: first === 0 ? [second + 1, second === 1 ? 1 : 2] : [second + 1] }
}

/** Everything behind a place is gone: the first anchor behind it misses its entry. */
function cut(lines: readonly string[], at: number): Tampered {
  const anchored = [3, 9, 15].find((place) => place > at) ?? 15
  return { way: 'cut', lines: lines.slice(0, at), places: [anchored] }
}

/**
 * What an owner of the database does who knows the rules: changes one record and computes every digest and link behind
 * it anew. The signature of the record still tells.
 */
function forgedAnew(lines: readonly string[], at: number): Tampered {
  const shown = lines.slice(0, at)
  let head = {
    store_sequence: at,
    entry_digest: at === 0 ? null : (readEventLine(lines[at - 1] ?? '')?.entryDigest ?? null),
  }
  for (const [index, line] of lines.slice(at).entries()) {
    const event = readEventLine(line)
    if (event === undefined) throw new Error('a sound line is read')
    const { store_sequence: _s, recorded_at, payload_digest: _p, prev_entry_digest: _e, ...subject } = event.entry
    const payload = canonicalJson(event.payload)
    const changed =
      index === 0 ? payload.replace(/:(?:true|false)/, (word) => (word === ':true' ? ':false' : ':true')) : payload
    const isSame = index === 0 && changed === payload
    const text = isSame ? payload.replace('"success"', '"failure"') : changed
    const next = chainEntry(head, subject, text, recorded_at)
    head = { store_sequence: next.entry.store_sequence, entry_digest: next.entry_digest }
    shown.push(next.line)
  }
  return { way: 'forge anew', lines: shown, places: [at + 1] }
}
